"""The description of MindSpore, which must be right without MindSpore, and its distribution."""

from __future__ import annotations

import itertools
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from cases import make_case

pytest.importorskip("mbench_mindspore", reason="MindSpore's adapter is not installed here")

from mbench_mindspore.plugin import MindSpore

from mbench.cli.builtin import mbench_workloads
from mbench.contract.adapter import Adapter
from mbench.plugins.adapter_metadata import size
from mbench.scenarios.find import resolve

ROOT = Path(__file__).parents[3]
RESNET = {
    "model": "resnet50",
    "workload": "mbench.workloads.resnet:RESNET50",
    "compiler": "pynative",
}


def test_requirements_are_pinned():
    assert MindSpore().requirements(None, "cpu")[0] == "mindspore==2.10.0"
    assert MindSpore().requirements("2.10.1", "cpu")[0] == "mindspore==2.10.1"


@pytest.mark.parametrize("version", ["2.9.0", "1.10.1", "3.0", "newest", ""])
def test_requirements_reject_other_versions(version):
    with pytest.raises(ValueError, match="not supported"):
        MindSpore().requirements(version, "cpu")


def test_its_tests_run_with_the_same_pins():
    listed = (ROOT / "tox.ini").read_text().partition("[testenv:mindspore]")[2].partition("\n[")[0]
    assert set(MindSpore().requirements(None, "cpu")) <= set(listed.split())


def test_it_comes_in_as_a_strangers_does():
    """Its entry point is in its own distribution, not in mbench's."""
    (entry,) = [e for e in entry_points(group="mbench") if e.value == "mbench_mindspore.plugin"]
    assert entry.dist is not None
    assert entry.dist.name == "mbench-dl-mindspore"
    assert "mindspore" not in (ROOT / "pyproject.toml").read_text().partition("[tool.")[0]


def test_a_description_is_complete():
    assert isinstance(MindSpore(), Adapter)
    assert next(iter(MindSpore().compilers)) == "pynative"
    assert size(MindSpore(), "cpu").startswith("downloads up to ")


@pytest.mark.parametrize("mode", ["train", "inference"])
def test_it_says_which_families_it_has(mode):
    refused = set()
    for model, workload in mbench_workloads().items():
        case = make_case(model=model, workload=workload, mode=mode, compiler="graph")
        if not MindSpore().supports(case).supported:
            refused.add(resolve(case).family)
    assert refused == {"dit", "dlrm", "llama", "moe", "vit"}


@pytest.mark.parametrize(
    ("precision", "compiler"), list(itertools.product(("fp32", "fp64"), ("pynative", "graph")))
)
def test_says_yes(precision, compiler):
    answer = MindSpore().supports(
        make_case(**{**RESNET, "precision": precision, "compiler": compiler})
    )
    assert answer.supported, answer.reason


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"device": "cuda"}, "for CPUs"),
        ({"precision": "tf32"}, "CUDA"),
        ({"precision": "bf16"}, "no bfloat16"),
        ({"precision": "amp-bf16"}, "no bfloat16"),
        ({"precision": "fp16"}, "no fast float16"),
        ({"precision": "amp-fp16"}, "no fast float16"),
        ({"compiler": "xla"}, "no compiler xla"),
    ],
)
def test_says_no_with_the_reason(changes, reason):
    answer = MindSpore().supports(make_case(**{**RESNET, **changes}))
    assert not answer.supported
    assert reason in answer.reason
