"""The description of MegEngine, which must be right without it, and its distribution."""

from __future__ import annotations

import ast
import itertools
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from cases import make_case
from packaging.specifiers import SpecifierSet

pytest.importorskip("mbench_megengine", reason="MegEngine's adapter is not installed here")

import mbench_megengine
from mbench_megengine.plugin import MegEngine

from mbench.cli.builtin import mbench_workloads
from mbench.contract.adapter import Adapter
from mbench.plugins.adapter_metadata import size
from mbench.scenarios.find import resolve

ROOT = Path(__file__).parents[3]
FILES = sorted(Path(mbench_megengine.__file__).parent.rglob("*.py"))
RESNET = {"model": "resnet50", "workload": "mbench.workloads.resnet:RESNET50", "compiler": "eager"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_all_files_have_the_syntax_of_its_oldest_python(file):
    tree = ast.parse(file.read_text(encoding="utf-8"), feature_version=(3, 8))
    imported = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    code = tree.body[1:]
    assert not code or "annotations" in {alias.name for node in imported for alias in node.names}
    assert not [node for node in ast.walk(tree) if keyword(node, "strict")], "zipped has it"


def keyword(node, name):
    return isinstance(node, ast.Call) and any(given.arg == name for given in node.keywords)


@pytest.mark.parametrize("accelerator", ["cpu", "cuda"])
def test_requirements_are_pinned(accelerator):
    first, *others = MegEngine().requirements(None, accelerator)
    assert first == "megengine==1.13.0"
    assert {other.split("==")[0] for other in others} == {"numpy", "setuptools"}
    assert MegEngine().requirements("1.13.1", accelerator)[0] == "megengine==1.13.1"


@pytest.mark.parametrize("version", ["1.12.4", "2.0", "1.13", "newest", ""])
def test_requirements_reject_other_versions(version):
    with pytest.raises(ValueError, match="not supported"):
        MegEngine().requirements(version, "cpu")


def test_its_tests_run_with_the_same_pins():
    listed = (ROOT / "tox.ini").read_text().partition("[testenv:megengine]")[2].partition("\n[")[0]
    assert set(MegEngine().requirements(None, "cpu")) <= set(listed.split())


def test_its_workers_have_a_python_that_there_are_wheels_for():
    wanted = SpecifierSet(MegEngine().python(None))
    assert wanted.contains("3.8.18")
    assert wanted.contains("3.10.13")
    assert not wanted.contains("3.11.7")


def test_it_comes_in_as_a_strangers_does():
    """Its entry point is in its own distribution, not in mbench's."""
    (entry,) = [e for e in entry_points(group="mbench") if e.value == "mbench_megengine.plugin"]
    assert entry.dist is not None
    assert entry.dist.name == "mbench-dl-megengine"
    assert "megengine" not in (ROOT / "pyproject.toml").read_text().partition("[tool.")[0]


def test_a_description_is_complete():
    assert isinstance(MegEngine(), Adapter)
    assert next(iter(MegEngine().compilers)) == "eager"
    assert size(MegEngine(), "cpu").startswith("downloads up to ")


def test_nothing_is_kept_in_the_home_folder():
    found = MegEngine().variables(threads=2, device="cpu")
    assert found["MGE_FASTRUN_CACHE_TYPE"] == "MEMORY"


@pytest.mark.parametrize("mode", ["train", "inference"])
def test_it_says_which_families_it_has(mode):
    refused = set()
    for model, workload in mbench_workloads().items():
        case = make_case(model=model, workload=workload, mode=mode, compiler="eager")
        if not MegEngine().supports(case).supported:
            refused.add(resolve(case).family)
    assert refused == {"dit", "dlrm", "gpt2", "llama", "lstm", "moe", "vit"}


@pytest.mark.parametrize(
    ("compiler", "mode"), list(itertools.product(("eager", "trace"), ("train", "inference")))
)
def test_says_yes(compiler, mode):
    answer = MegEngine().supports(make_case(**{**RESNET, "compiler": compiler, "mode": mode}))
    assert answer.supported, answer.reason


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"precision": "fp64"}, "no float64"),
        ({"precision": "tf32"}, "CUDA"),
        ({"precision": "fp16"}, "use fp32"),
        ({"precision": "bf16"}, "use fp32"),
        ({"precision": "amp-bf16"}, "on GPUs"),
        ({"precision": "amp-fp16"}, "on GPUs"),
        ({"device": "cuda"}, "CUDA 10.1"),
        ({"compiler": "xla"}, "no compiler xla"),
    ],
)
def test_says_no_with_the_reason(changes, reason):
    answer = MegEngine().supports(make_case(**{**RESNET, **changes}))
    assert not answer.supported
    assert reason in answer.reason
