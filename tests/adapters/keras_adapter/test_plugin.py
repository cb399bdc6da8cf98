"""The descriptions of Keras on each backend, which must be right without Keras."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

import pytest
from cases import make_case

pytest.importorskip("mbench_keras", reason="Keras' adapter is not installed here")

from mbench_keras.plugin import JAX, TENSORFLOW, TORCH, mbench_adapters

from mbench.cli.builtin import mbench_workloads
from mbench.contract.adapter import Adapter
from mbench.contract.tier import DEFAULT, TUNED
from mbench.plugins.adapter_metadata import size
from mbench.scenarios.find import resolve

ROOT = Path(__file__).parents[3]
ADAPTERS = {adapter.name: adapter for adapter in mbench_adapters()}


@pytest.fixture(params=ADAPTERS)
def adapter(request):
    return ADAPTERS[request.param]


def test_each_backend_has_its_name_and_its_pins():
    assert list(ADAPTERS) == ["keras-jax", "keras-torch", "keras-tensorflow"]
    assert JAX.requirements(None, "cpu") == (
        "keras==3.15.1", "jax==0.10.2", "jaxlib==0.10.2",
    )  # fmt: skip
    assert TORCH.requirements("3.15.0", "cpu") == ("keras==3.15.0", "torch==2.13.0")
    assert TENSORFLOW.requirements(None, "cpu")[1:] == ("tensorflow-cpu==2.21.0",)


def test_backends_are_those_of_the_native_adapters():
    """Otherwise, a comparison of both would be of two versions of a backend, not of Keras."""
    extras = (ROOT / "pyproject.toml").read_text()
    for adapter in ADAPTERS.values():
        for pin in adapter.pins:
            assert f'"{pin}' in extras


@pytest.mark.parametrize("version", ["2.15.0", "3.1", "4.0", "newest", ""])
def test_requirements_reject_other_versions(adapter, version):
    with pytest.raises(ValueError, match="not supported"):
        adapter.requirements(version, "cpu")


def test_its_tests_run_with_the_same_pins():
    listed = (ROOT / "tox.ini").read_text().partition("[testenv:keras]")[2].partition("\n[")[0]
    assert set(JAX.requirements(None, "cpu")) <= set(listed.split())


def test_it_comes_in_as_a_strangers_does():
    """Its entry point is in its own distribution, not in mbench's."""
    (entry,) = [e for e in entry_points(group="mbench") if e.value == "mbench_keras.plugin"]
    assert entry.dist is not None
    assert entry.dist.name == "mbench-dl-keras"
    assert "keras" not in (ROOT / "pyproject.toml").read_text().partition("[tool.")[0]


def test_a_description_is_complete(adapter):
    assert isinstance(adapter, Adapter)
    assert adapter.variables(threads=2, device="cpu")["KERAS_BACKEND"] == adapter.backend
    assert size(adapter, "cpu").startswith("downloads ")
    for tier in (DEFAULT, TUNED):
        assert set(adapter.tiers[tier].compilers) <= set(adapter.compilers)
    assert next(iter(adapter.compilers)) in adapter.tiers[DEFAULT].compilers


@pytest.mark.parametrize("mode", ["train", "inference"])
def test_it_says_which_families_it_has(adapter, mode):
    found = set()
    for model, workload in mbench_workloads().items():
        case = make_case(
            model=model, workload=workload, mode=mode, compiler=next(iter(adapter.compilers))
        )
        if adapter.supports(case).supported:
            found.add(resolve(case).family)
    assert found == {"resnet", "bert", "gpt2", "lstm", "vit"}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"device": "cuda"}, "no device cuda"),
        ({"precision": "tf32"}, "CUDA"),
        ({"precision": "bf16"}, "fp32 and fp64"),
        ({"precision": "amp-bf16"}, "fp32 and fp64"),
        ({"compiler": "hybrid"}, "no compiler hybrid"),
    ],
)
def test_says_no_with_the_reason(adapter, changes, reason):
    known = {"model": "resnet50", "workload": "mbench.workloads.resnet:RESNET50"}
    case = make_case(**{**known, "compiler": next(iter(adapter.compilers)), **changes})
    answer = adapter.supports(case)
    assert not answer.supported
    assert reason in answer.reason
