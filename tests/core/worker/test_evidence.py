"""Sketches bound what they claim to bound, and observations hold what was left by the steps."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from mbench_tiny import TINY, Model

from mbench.contract.case import Case
from mbench.contract.wire import Observe, decode, encode
from mbench.worker.evidence import BUCKETS, observe, sketch
from mbench.workloads import generator

CASE = Case(
    model="tiny-model",
    workload="mbench_tiny:TINY",
    mode="train",
    batch_size=8,
    precision="fp64",
    compiler="eager",
    device="cpu",
    threads=1,
    learning_rate=0.1,
)


def model(case=CASE, lie=""):
    return Model(case, case.resolve(), lambda: None, lie=lie)


def distance(one, other):
    return float(np.linalg.norm(np.subtract(one[1:], other[1:])))


def test_a_sketch_is_the_norm_and_five_sums():
    array = np.arange(12, dtype=np.float64).reshape(3, 4)
    made = sketch("w", array)
    assert len(made) == 1 + BUCKETS
    assert made[0] == pytest.approx(np.linalg.norm(array))
    signed = generator.signs("sketch/w", 12) * array.ravel()
    assert made[1:] == pytest.approx([signed[j::BUCKETS].sum() for j in range(BUCKETS)])


def test_sketches_never_change():
    """References hold them, so theirs must be the same signs for ever."""
    made = sketch("layer1.0.conv1.weight", np.arange(8, dtype=np.float32))
    assert made == pytest.approx([math.sqrt(140), 5, 7, -5, 3, -4])


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_squared_distances_are_right_on_average(size):
    """Over many names, that is many draws of signs, for one pair of tensors."""
    one = generator.uniform("one", (size,)).astype(np.float64)
    other = one + 1e-3 * generator.uniform("other", (size,))
    true = np.linalg.norm(one - other)
    ratios = [
        distance(sketch(name, one), sketch(name, other)) / true for name in map(str, range(400))
    ]
    assert np.mean(np.square(ratios)) == pytest.approx(1, abs=0.12)
    # A difference may hide from five sums, but not well: chi-squared with five degrees.
    assert np.quantile(ratios, 0.01) > 0.2
    assert min(ratios) > 0.05
    assert max(ratios) < 3


def test_one_changed_element_cannot_hide():
    array = generator.uniform("w", (10_007,)).astype(np.float64)
    for at in (0, 4, 5, 5003, 10_006):
        changed = array.copy()
        changed[at] += 1e-6
        assert distance(sketch("w", array), sketch("w", changed)) == pytest.approx(1e-6, rel=1e-3)


def test_swapped_elements_are_seen_though_the_norm_is_the_same():
    array = generator.uniform("w", (8, 12)).astype(np.float64)
    one, other = sketch("w", array), sketch("w", array[::-1])
    assert one[0] == pytest.approx(other[0])
    assert distance(one, other) > 0.1 * np.linalg.norm(array - array[::-1])


def test_layout_and_type_do_not_matter():
    array = generator.uniform("w", (6, 7))
    expected = sketch("w", array)
    assert sketch("w", np.asfortranarray(array)) == expected
    assert sketch("w", array.astype(np.float64)) == expected
    assert sketch("w", np.repeat(array, 2, axis=1)[:, ::2]) == expected


def test_names_have_signs_of_their_own():
    array = np.ones(100)
    assert sketch("a", array)[1:] != sketch("b", array)[1:]


def test_scalars_and_empty_tensors_have_sketches():
    assert sketch("w", np.float64(-3))[0] == 3
    assert sketch("w", np.zeros((0, 4))) == [0] * 6


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_named(value):
    array = np.zeros((3, 5), dtype=np.float32)
    array[1, 2] = value
    with pytest.raises(ValueError, match=r"layer4\.2\.bn3\.bias is not finite"):
        sketch("layer4.2.bn3.bias", array)


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
    case = Case(**{**vars(CASE), "mode": "inference"})
    bench = model(case)
    seen = observe(bench, case.resolve(), Observe(seed=1, steps=1, training=False))
    (step,) = seen.steps
    assert step.loss is None
    assert step.parameters == {}
    assert step.outputs == {"logits": sketch("logits", bench.outputs()["logits"])}
    assert seen.shapes == {"weight": [64, 256], "bias": [64]}


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

    def spoil():
        step()
        bench.values["bias"][3] = np.nan

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
