"""Observations hold what steps leave behind."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from cases import make_case
from mbench_tiny import TINY
from mbench_tiny_flaky import FlakyRuntime

from mbench.contract.scenario import Steps
from mbench.contract.sketch import sketch
from mbench.contract.wire import Look, Observe, decode, encode
from mbench.proofs.proof_case import proof_work
from mbench.scenarios.find import prepared, work_of
from mbench.worker.batch_cycler import BatchCycler
from mbench.worker.evidence import load, look, observe, rounded

CASE = make_case(precision="fp64")
WORK = proof_work(CASE, learning_rate=0.1)


def model(case=CASE, lie=""):
    runtime = FlakyRuntime(device="cpu", threads=1)
    runtime.fault = lie
    return prepared(runtime, work_of(case, proof=WORK))


def test_training_is_observed_step_by_step():
    made = model()
    seen = observe(made, Observe(seed=3, steps=2))
    assert seen.shapes == {"weight": [64, 256], "bias": [64]}
    assert seen.trainable_parameters == 64 * 257
    assert seen.counted_flops is None
    assert len(seen.steps) == 2
    assert seen.steps[1].loss < seen.steps[0].loss
    start = dict(TINY.parameters(seed=3))
    for name, array in made.benchmark.parameters():
        expected = sketch(name, array - start[name].astype(np.float64))
        assert seen.steps[-1].parameters[name] == pytest.approx(expected)
    assert seen.steps[0].parameters["bias"][0] > 0
    assert all(step.outputs == {} for step in seen.steps)
    assert decode(encode(seen)) == seen


def test_observing_twice_gives_the_same_since_parameters_are_reloaded():
    bench, request = model(), Observe(seed=0, steps=2)
    assert observe(bench, request) == observe(bench, request)


def test_inference_is_observed_by_its_outputs():
    case = dataclasses.replace(CASE, mode="inference")
    made = model(case)
    seen = observe(made, Observe(seed=1, steps=1))
    (step,) = seen.steps
    assert step.loss is None
    assert step.parameters == {}
    assert step.outputs == {"logits": sketch("logits", made.benchmark.outputs()["logits"])}
    assert seen.shapes == {"weight": [64, 256], "bias": [64]}


def test_a_tensor_can_be_filled_with_one_number():
    case = dataclasses.replace(CASE, mode="inference")
    bench = model(case)
    request = Observe(seed=1, steps=1, filled={"weight": 0.0})
    (step,) = observe(bench, request).steps
    rows = np.tile(dict(TINY.parameters(seed=1))["bias"].astype(np.float64), (CASE.batch_size, 1))
    assert step.outputs == {"logits": sketch("logits", rows)}


@pytest.mark.parametrize(
    ("lie", "expected"), [("frozen", {"bias": [0.0] * 6}), ("extra", {"surplus": None})]
)
def test_what_a_step_leaves_undone_or_adds_is_seen(lie, expected):
    seen = observe(model(lie=lie), Observe(seed=0, steps=1))
    for name, made in expected.items():
        assert seen.steps[0].parameters.get(name) == made
        assert name in seen.shapes


def test_a_loss_that_is_not_finite_is_refused():
    with pytest.raises(ValueError, match="the loss is not finite"):
        observe(model(lie="nan"), Observe(seed=0, steps=1))


def test_a_tensor_that_is_not_finite_is_named():
    made = model()
    step = made.run

    def spoil(at):
        step(at)
        made.benchmark.model["bias"][3] = np.nan

    made.run = spoil
    with pytest.raises(ValueError, match="bias is not finite"):
        observe(made, Observe(seed=0, steps=1))


@pytest.mark.parametrize("mode", ["train", "inference"])
@pytest.mark.parametrize("dtype", [np.float16, np.int64, np.complex128])
def test_what_is_no_float_is_named(mode, dtype):
    made = model(dataclasses.replace(CASE, mode=mode))
    made.benchmark.parameters = lambda: iter([("weight", np.ones((64, 256), dtype=dtype))])
    made.benchmark.outputs = lambda: {"logits": np.ones(7, dtype=dtype)}
    with pytest.raises(ValueError, match=f"is {np.dtype(dtype)}, but must be float32 or float64"):
        observe(made, Observe(seed=0, steps=1))


def test_parameters_in_half_precision_are_held_against_what_was_loaded():
    """Otherwise, their rounding would be taken for a change, and hide the real one."""
    step = 2.0**-7  # from 1 to the next number in bfloat16
    given = np.array(
        [1 + step / 2, 1 + 3 * step / 2, 1 + 0.6 * step, -1 - 0.4 * step, 0], np.float32
    )
    left = np.array([1, 1 + 2 * step, 1 + step, -1, 0], np.float32)
    assert (rounded(given, "bfloat16") == left).all()
    assert (rounded(left, "bfloat16") == left).all()
    assert (rounded(given, "float16") == given.astype(np.float16)).all()
    assert rounded(given, "float32") is given


class Scaled:
    """Training with a loss scale that overflows above `limit`; two batches."""

    batches = 2

    def __init__(self, limit, scale=2.0**16):
        self.limit, self.scale = limit, scale
        self.loads = self.skips = self.made = 0

    def load_parameters(self, arrays):
        self.loads += 1
        self.skips = 0
        self.weights = {name: array.astype(np.float64) for name, array in arrays}

    def parameters(self):
        return iter(self.weights.items())

    def step(self, at):
        self.made += 1
        if self.scale > self.limit(at, self.made):
            self.scale /= 2
            self.skips += 1
            return
        for array in self.weights.values():
            array += 1

    def synchronize(self):
        pass

    def skipped_steps(self):
        return self.skips

    def loss(self):
        return 1.0

    def trainable_parameters(self):
        return 1


SCALED = dataclasses.replace(CASE, precision="amp-fp16")


def steps_of(bench, case=SCALED):
    return Steps(bench, work_of(case), lambda batch: None)


def test_a_loss_scale_is_found_before_parameters_count():
    bench = Scaled(lambda at, made: 1000.0 if at else 5000.0)
    load(steps_of(bench), lambda: TINY.parameters(seed=0))
    assert bench.scale == 512
    assert (bench.loads, bench.skips) == (2, 0)
    for name, array in TINY.parameters(seed=0):
        assert np.array_equal(bench.weights[name], array)


def test_other_precisions_are_loaded_once():
    bench = Scaled(lambda at, made: 0.0)
    load(steps_of(bench, CASE), lambda: TINY.parameters(seed=0))
    assert (bench.loads, bench.made) == (1, 0)


def test_gradients_that_overflow_at_every_scale_are_told():
    with pytest.raises(ValueError, match="42 of 42 steps were skipped"):
        load(steps_of(Scaled(lambda at, made: 0.0)), lambda: TINY.parameters(seed=0))


def test_a_proof_in_which_a_step_is_skipped_is_made_again():
    bench = Scaled(lambda at, made: 100.0 if made == 9 else 2.0**12)
    seen = observe(steps_of(bench), Observe(seed=0, steps=3))
    assert bench.loads == 4  # two for a scale, twice
    assert [step.parameters["bias"][0] for step in seen.steps] == pytest.approx([8, 16, 24])


def test_no_step_is_made_from_where_bare_descent_leads():
    """After one step as large as the parameters, gradients overflow at every scale."""

    class Bare(Scaled):
        def load_parameters(self, arrays):
            super().load_parameters(arrays)
            self.start = self.weights["bias"].copy()

    bench = Bare(lambda *_: 2.0**12 if (bench.weights["bias"] == bench.start).all() else 0.0)
    (step,) = observe(steps_of(bench), Observe(seed=0, steps=1)).steps
    assert bench.scale == 2.0**12
    assert step.parameters["bias"][0] == pytest.approx(8)


def test_a_proof_in_which_steps_are_always_skipped_is_none():
    bench = Scaled(lambda at, made: 2.0**40)
    bench.skipped_steps = lambda: len(bench.weights)  # it reports this whatever it does
    with pytest.raises(ValueError, match="in each of 5 attempts"):
        observe(steps_of(bench), Observe(seed=0, steps=1))


def test_a_step_that_left_no_result_is_named():
    made = model(dataclasses.replace(CASE, mode="inference"))
    made.benchmark.keep_results(4)
    cycler = BatchCycler(made)
    cycler.steps = 7  # as if the adapter had skipped all but three of them
    for at in range(3):
        made.run(at % made.batches)
    assert [one.back for one in look(cycler, Look(back=[0, 2])).earlier] == [0, 2]
    with pytest.raises(ValueError, match=r"^step 4 of 7 left no result: the adapter skips steps"):
        look(cycler, Look(back=[3]))
