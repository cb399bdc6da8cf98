"""The description of PaddlePaddle, which must be right without PaddlePaddle."""

from __future__ import annotations

import pytest
from cases import make_case

from mbench.contract.tier import TUNED
from mbench.spec.planning import with_own_compiler
from mbench_paddle.plugin import PaddlePaddle


@pytest.mark.parametrize(
    ("accelerator", "distribution"), [("cpu", "paddlepaddle"), ("cuda", "paddlepaddle-gpu")]
)
def test_requirements(accelerator, distribution):
    pinned, *others = PaddlePaddle().requirements(None, accelerator)
    assert pinned == f"{distribution}==3.3.1"
    assert others == ["numpy==2.2.6", "setuptools==80.9.0"]
    assert PaddlePaddle().requirements("3.2.0", accelerator)[0] == f"{distribution}==3.2.0"


def test_pip_is_not_told_of_an_index_but_users_are():
    """The hint is about the distribution for CUDA; pip finds the one for CPUs by itself."""
    hint = PaddlePaddle().index_hint("cuda")
    assert "PIP_EXTRA_INDEX_URL" in hint
    assert "Install on Linux via PIP" in hint
    assert not PaddlePaddle().index_hint("cpu")


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize(
    ("mode", "compiler"), [("inference", "engine"), ("prefill", "static"), ("decode", "static")]
)
def test_the_tuned_compiler_is_one_that_can_run_the_mode(device, mode, compiler):
    """The inference engine keeps no cache, and puts out wrong logits of Llama on the CPU."""
    case = make_case(
        model="llama-6m", workload="mbench.workloads.llama:MODELS", mode=mode, device=device,
        tier=TUNED, compiler="eager",
    )  # fmt: skip
    expected = "static" if device == "cpu" else compiler
    assert with_own_compiler(PaddlePaddle(), case).compiler == expected
