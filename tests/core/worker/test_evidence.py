"""Observations hold what the steps have left."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from cases import make_case
from mbench_tiny import TINY, FlakyRuntime

from mbench.contract.sketch import sketch
from mbench.contract.wire import Observe, decode, encode
from mbench.worker.evidence import observe, rounded

CASE = make_case(precision="fp64", learning_rate=0.1)


def model(case=CASE, lie=""):
    runtime = FlakyRuntime(device="cpu", threads=1)
    runtime.fault = lie
    return runtime.prepare(case, case.resolve())


def test_training_is_observed_step_by_step():
    bench = model()
    seen = observe(bench, CASE.resolve(), Observe(seed=3, steps=2, training=True))
    assert seen.shapes == {"weight": [64, 256], "bias": [64]}
    assert seen.trainable_parameters == 64 * 257
    assert seen.counted_flops is None
    assert len(seen.steps) == 2
    assert seen.steps[1].loss < seen.steps[0].loss
    start = dict(TINY.parameters(seed=3))
    for name, array in bench.parameters():
        expected = sketch(name, array - start[name].astype(np.float64))
        assert seen.steps[-1].parameters[name] == pytest.approx(expected)
    assert seen.steps[0].parameters["bias"][0] > 0
    assert all(step.outputs == {} for step in seen.steps)
    assert decode(encode(seen)) == seen


def test_observing_twice_gives_the_same_since_parameters_are_reloaded():
    bench, request = model(), Observe(seed=0, steps=2, training=True)
    assert observe(bench, TINY, request) == observe(bench, TINY, request)


def test_inference_is_observed_by_its_outputs():
    case = dataclasses.replace(CASE, mode="inference")
    bench = model(case)
    seen = observe(bench, case.resolve(), Observe(seed=1, steps=1, training=False))
    (step,) = seen.steps
    assert step.loss is None
    assert step.parameters == {}
    assert step.outputs == {"logits": sketch("logits", bench.outputs()["logits"])}
    assert seen.shapes == {"weight": [64, 256], "bias": [64]}


def test_a_tensor_can_be_filled_with_one_number():
    case = dataclasses.replace(CASE, mode="inference")
    bench = model(case)
    request = Observe(seed=1, steps=1, training=False, filled={"weight": 0.0})
    (step,) = observe(bench, case.resolve(), request).steps
    rows = np.tile(dict(TINY.parameters(seed=1))["bias"].astype(np.float64), (CASE.batch_size, 1))
    assert step.outputs == {"logits": sketch("logits", rows)}


@pytest.mark.parametrize(
    ("lie", "expected"), [("frozen", {"bias": [0.0] * 6}), ("extra", {"surplus": None})]
)
def test_what_a_step_leaves_undone_or_adds_is_seen(lie, expected):
    seen = observe(model(lie=lie), CASE.resolve(), Observe(seed=0, steps=1, training=True))
    for name, made in expected.items():
        assert seen.steps[0].parameters.get(name) == made
        assert name in seen.shapes


def test_a_loss_that_is_not_finite_is_refused():
    with pytest.raises(ValueError, match="the loss is not finite"):
        observe(model(lie="nan"), CASE.resolve(), Observe(seed=0, steps=1, training=True))


def test_a_tensor_that_is_not_finite_is_named():
    bench = model()
    step = bench.step

    def spoil(at):
        step(at)
        bench.model["bias"][3] = np.nan

    bench.step = spoil
    with pytest.raises(ValueError, match="bias is not finite"):
        observe(bench, CASE.resolve(), Observe(seed=0, steps=1, training=True))


@pytest.mark.parametrize("mode", ["train", "inference"])
@pytest.mark.parametrize("dtype", [np.float16, np.int64, np.complex128])
def test_what_is_no_float_is_named(mode, dtype):
    made = model(dataclasses.replace(CASE, mode=mode))
    made.parameters = lambda: iter([("weight", np.ones((64, 256), dtype=dtype))])
    made.outputs = lambda: {"logits": np.ones(7, dtype=dtype)}
    with pytest.raises(ValueError, match=f"is {np.dtype(dtype)}, where float32 or float64 is due"):
        observe(made, TINY, Observe(seed=0, steps=1, training=mode == "train"))


def test_parameters_in_half_precision_are_held_against_what_was_loaded():
    """Else how they were rounded would pass for their change, and hide it."""
    step = 2.0**-7  # from 1 to the next number in bfloat16
    given = np.array(
        [1 + step / 2, 1 + 3 * step / 2, 1 + 0.6 * step, -1 - 0.4 * step, 0], np.float32
    )
    left = np.array([1, 1 + 2 * step, 1 + step, -1, 0], np.float32)
    assert (rounded(given, "bfloat16") == left).all()
    assert (rounded(left, "bfloat16") == left).all()
    assert (rounded(given, "float16") == given.astype(np.float16)).all()
    assert rounded(given, "float32") is given
