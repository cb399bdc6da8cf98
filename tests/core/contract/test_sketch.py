"""Sketches bound what they claim to bound."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mbench.contract import generator
from mbench.contract.sketch import BLOCK, BUCKETS, sketch, thinned


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
    """Reference files hold sketches, so the signs must stay the same forever."""
    made = sketch("layer1.0.conv1.weight", np.arange(8, dtype=np.float32))
    assert made == pytest.approx([math.sqrt(140), 5, 7, -5, 3, -4])


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_squared_distances_are_right_on_average(size):
    """The mean is over many names, each of which draws its own signs, for one pair of tensors."""
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


@pytest.mark.parametrize("size", [1, 4, BLOCK - 1, BLOCK + 7, 2 * BLOCK])
def test_the_sketch_of_a_change_is_that_of_the_difference(size):
    array = np.random.default_rng(3).standard_normal(size)
    start = np.random.default_rng(4).standard_normal(size).astype(np.float32)
    assert sketch("change", array, start=start) == sketch("change", array - start)


def test_tensors_longer_than_a_block_are_summed_whole():
    array = np.random.default_rng(5).standard_normal(2 * BLOCK + 3)
    signed = array * generator.signs("sketch/long", array.size)
    expected = [np.linalg.norm(array), *(signed[j::5].sum() for j in range(5))]
    assert sketch("long", array) == pytest.approx(expected, rel=1e-9)


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


@pytest.mark.parametrize("shape", [(7, 5), (513, 400), (64, 3, 50, 50)])
def test_of_a_transposed_tensor_the_same_numbers_are_looked_at(shape):
    array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    stored = np.ascontiguousarray(array.transpose())
    assert (thinned(stored.transpose()) == thinned(array)).all()
