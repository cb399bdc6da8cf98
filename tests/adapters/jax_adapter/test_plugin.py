"""The description of JAX, which must be right without JAX, and its distribution."""

from __future__ import annotations

import itertools
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from cases import make_case

pytest.importorskip("mbench_jax", reason="JAX's adapter is not installed here")

from mbench_jax.plugin import Jax

from mbench.cli.builtin import mbench_workloads
from mbench.contract.adapter import Adapter
from mbench.plugins.adapter_metadata import size

ROOT = Path(__file__).parents[3]
RESNET = {"model": "resnet50", "workload": "mbench.workloads.resnet:RESNET50"}


@pytest.mark.parametrize(("accelerator", "distribution"), [("cpu", "jax"), ("cuda", "jax[cuda12]")])
def test_requirements_follow_the_accelerator(accelerator, distribution):
    first, second, third = Jax().requirements(None, accelerator)
    assert (first, second) == (f"{distribution}==0.10.2", "jaxlib==0.10.2")
    assert third.startswith("optax==")
    assert Jax().requirements("0.10.1", accelerator)[:2] == (
        f"{distribution}==0.10.1",
        "jaxlib==0.10.1",
    )


@pytest.mark.parametrize("version", ["0.9.2", "0.4.38", "1.0", "newest", ""])
def test_requirements_reject_other_versions(version):
    with pytest.raises(ValueError, match="not supported"):
        Jax().requirements(version, "cpu")


def test_its_tests_run_with_the_same_pins():
    listed = (ROOT / "tox.ini").read_text().partition("[testenv:jax]")[2].partition("\n[")[0]
    assert set(Jax().requirements(None, "cpu")) <= set(listed.split())


def test_a_worker_has_its_threads_and_its_device():
    found = Jax().variables(threads=3, device="cpu")
    assert found["PJRT_NPROC"] == "3"
    assert found["JAX_PLATFORMS"] == "cpu"


def test_it_comes_in_as_a_strangers_does():
    """By a distribution of its own; mbench's has no entry point for it."""
    (entry,) = [e for e in entry_points(group="mbench") if e.value == "mbench_jax.plugin"]
    assert entry.dist is not None
    assert entry.dist.name == "mbench-dl-jax"
    assert "jax" not in (ROOT / "pyproject.toml").read_text().partition("[tool.")[0]


def test_a_description_is_complete():
    assert isinstance(Jax(), Adapter)
    assert next(iter(Jax().compilers)) == "jit"
    assert size(Jax(), "cpu").startswith("downloads up to ")


@pytest.mark.parametrize("mode", ["train", "inference"])
def test_it_says_that_it_has_the_whole_zoo(mode):
    for model, workload in mbench_workloads().items():
        case = make_case(model=model, workload=workload, mode=mode, compiler="jit")
        assert Jax().supports(case).supported, model


SAID_YES = (
    {"device": ("cpu",), "precision": ("fp32", "fp64", "amp-bf16", "bf16"),
     "compiler": ("jit", "eager")},
    {"device": ("cuda",), "precision": ("fp32", "tf32", "fp64", "amp-bf16", "bf16", "fp16"),
     "compiler": ("jit",)},
)  # fmt: skip


@pytest.mark.parametrize(
    "changes",
    [
        dict(zip(axes, values, strict=True))
        for axes in SAID_YES
        for values in itertools.product(*axes.values())
    ],
)
def test_says_yes(changes):
    answer = Jax().supports(make_case(**RESNET, **changes))
    assert answer.supported, answer.reason


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"precision": "tf32"}, "CUDA"),
        ({"precision": "fp16"}, "use bf16"),
        ({"precision": "amp-fp16"}, "use amp-bf16"),
        ({"precision": "amp-fp16", "device": "cuda"}, "use amp-bf16"),
        ({"compiler": "xla"}, "no compiler xla"),
    ],
)
def test_says_no_with_the_reason(changes, reason):
    answer = Jax().supports(make_case(**{**RESNET, "compiler": "jit", **changes}))
    assert not answer.supported
    assert reason in answer.reason
