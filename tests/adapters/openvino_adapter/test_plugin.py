"""The description of OpenVINO, which must be right without it, and its distribution."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

import pytest
from cases import make_case

pytest.importorskip("mbench_openvino", reason="OpenVINO's adapter is not installed here")

from mbench_openvino.plugin import OpenVino

from mbench.contract.adapter import Adapter
from mbench.proofs.proof_case import exact_case

ROOT = Path(__file__).parents[3]
RESNET = {"model": "resnet50", "workload": "mbench.workloads.resnet:RESNET50"}


def test_its_tests_run_with_the_same_pins():
    listed = (ROOT / "tox.ini").read_text().partition("[testenv:openvino]")[2]
    pins = set(listed.partition("\n[")[0].split())
    assert set(OpenVino().requirements(None, "cpu")) <= pins


@pytest.mark.parametrize("version", ["2024.6.0", "2026.4", "1.27.0", "newest", ""])
def test_requirements_reject_other_versions(version):
    with pytest.raises(ValueError, match="not supported"):
        OpenVino().requirements(version, "cpu")


def test_it_comes_in_as_a_strangers_does():
    """Its entry point is in its own distribution, not in mbench's."""
    (entry,) = [e for e in entry_points(group="mbench") if e.value == "mbench_openvino.plugin"]
    assert entry.dist is not None
    assert entry.dist.name == "mbench-dl-openvino"
    assert "openvino" not in (ROOT / "pyproject.toml").read_text().partition("[tool.")[0]


def test_a_description_is_complete():
    assert isinstance(OpenVino(), Adapter)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"mode": "train"}, "infers only"),
        ({"precision": "fp64"}, "float64 in single precision"),
        ({"precision": "amp-fp16"}, "no float16"),
        ({"precision": "fp16"}, "no float16"),
        ({"device": "cuda"}, "on CPUs only"),
    ],
)
def test_what_it_lacks_has_its_reason(changes, reason):
    case = make_case(**{**RESNET, "mode": "inference", "compiler": "latency", **changes})
    support = OpenVino().supports(case)
    assert not support.supported
    assert reason in support.reason


def test_its_second_grade_is_found_not_declared():
    case = make_case(**{**RESNET, "mode": "inference", "compiler": "latency"})
    assert exact_case(OpenVino(), case) == case
