"""The description of tinygrad, which must be right without it, and its distribution."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

import pytest
from cases import make_case

pytest.importorskip("mbench_tinygrad", reason="tinygrad's adapter is not installed here")

from mbench_tinygrad.plugin import Tinygrad

from mbench.contract.adapter import Adapter
from mbench.environments.locate import find
from mbench.errors import EnvironmentUnavailable
from mbench.plugins.description import mistakes
from mbench.spec.arm import parse

ROOT = Path(__file__).parents[3]
FILES = ("__init__", "plugin", "runtime", "optimizer")


def test_its_tests_run_with_the_same_pins():
    listed = (ROOT / "tox.ini").read_text().partition("[testenv:tinygrad]")[2]
    pins = set(listed.partition("\n[")[0].split())
    assert set(Tinygrad().requirements(None, "cpu")) <= pins


def test_it_comes_in_as_a_strangers_does():
    (entry,) = [e for e in entry_points(group="mbench") if e.value == "mbench_tinygrad.plugin"]
    assert entry.dist is not None
    assert entry.dist.name == "mbench-dl-tinygrad"


def test_a_description_is_complete():
    assert isinstance(Tinygrad(), Adapter)
    assert list(mistakes(Tinygrad())) == []


def test_it_takes_a_hundred_and_fifty_lines_without_models():
    folder = ROOT / "adapters" / "tinygrad" / "mbench_tinygrad"
    texts = [(folder / f"{name}.py").read_text().splitlines() for name in FILES]
    assert sum(bool(line.strip()) for text in texts for line in text) <= 150


def test_without_clang_it_says_so_before_an_environment_is_built(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("MBENCH_ENVIRONMENTS", str(tmp_path / "environments"))
    with pytest.raises(EnvironmentUnavailable, match="clang, which is not on PATH: apt install"):
        find(parse("tinygrad"), Tinygrad(), accelerator="cpu", provision=True, report=print)
    assert not (tmp_path / "environments").exists()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"precision": "bf16"}, "no bfloat16"),
        ({"precision": "amp-fp16"}, "no fast float16"),
        ({"precision": "tf32"}, "CUDA"),
        ({"device": "cuda"}, "has no device cuda"),
    ],
)
def test_what_it_lacks_has_its_reason(changes, reason):
    resnet = {"model": "resnet50", "workload": "mbench.workloads.resnet:RESNET50"}
    support = Tinygrad().supports(make_case(**{**resnet, "compiler": "jit", **changes}))
    assert not support.supported
    assert reason in support.reason
