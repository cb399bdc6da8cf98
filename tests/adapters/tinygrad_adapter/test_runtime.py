"""tinygrad's side of a worker: both compilers, what an optimizer keeps, and given gradients."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest
from small import infer, losses, prepare, resnet

pytest.importorskip("tinygrad", reason="tinygrad is not installed here")
if shutil.which("clang") is None:
    pytest.skip("tinygrad compiles its kernels by clang", allow_module_level=True)

from mbench_tinygrad.runtime import Runtime

from mbench.workloads.given import GIVEN
from mbench.workloads.lstm import MODELS

RESNET = resnet(blocks=(1,), widths=(4,), bottleneck=False, stem=4, image_size=8)
LSTM = MODELS["lstm-tiny"]
LSTM = replace(LSTM, config=replace(LSTM.config, features=4, hidden=4, sequence_length=2))


@pytest.fixture(scope="module")
def runtime():
    return Runtime(device="cpu", threads=2)


def test_compilers_give_the_same_outputs_and_follow_batches(runtime):
    found = {}
    for compiler in ("eager", "jit"):
        made = prepare(runtime, RESNET, mode="inference", compiler=compiler, precision="fp64")
        found[compiler] = infer(made)["logits"]
        for at in (1, 0, 1):  # the second captures, the third replays
            made.step(at)
            other = made.outputs()["logits"]
        assert np.abs(other - found[compiler]).max() > 1e-4, compiler
    assert np.allclose(found["eager"], found["jit"], rtol=1e-12)


def test_training_starts_over_with_all_that_the_optimizer_keeps(runtime):
    """This holds even after a step was captured, although what is compiled keeps its tensors."""
    made = prepare(runtime, LSTM, compiler="jit", precision="fp64")
    first = losses(made, 3)
    assert len(set(first)) == 3
    made.load_parameters(LSTM.parameters(seed=0))
    assert losses(made, 3) == pytest.approx(first, rel=1e-12)


def test_given_gradients_are_the_loss_of_the_sdk(runtime):
    made = prepare(runtime, GIVEN, compiler="eager", precision="fp64", plain_sgd=True, batch_size=1)
    before = dict(made.parameters())
    losses(made, 1)
    after = dict(made.parameters())
    for name, gradient in GIVEN.gradients(seed=made.case.seed).items():
        assert np.allclose(before[name] - after[name], 1e-3 * gradient, rtol=1e-9), name
