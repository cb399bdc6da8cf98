"""The bits of weights and data, pinned: if one changes, every reference file is void."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from mbench.contract import generator


def digest(array: np.ndarray) -> str:
    little = array.astype(array.dtype.newbyteorder("<"))
    return hashlib.sha256(np.ascontiguousarray(little).tobytes()).hexdigest()[:16]


def test_bits_never_change():
    words = [0xCBCBAF5542B9EF3F, 0x38A74519F6C28ED2, 0x63B2645403627E9F, 0x4989050F99621BF6]
    assert generator.bits("golden", 4).tolist() == words


def test_floats_never_change():
    expected = [
        "-0x1.ea30880000000p-2",
        "0x1.2f2ebc0000000p-1",
        "0x1.db0a380000000p-1",
        "-0x1.1d62ec0000000p-1",
        "-0x1.f276080000000p-1",
    ]
    assert [float(value).hex() for value in generator.uniform("golden", (5,))] == expected


def test_integers_permutations_and_signs_never_change():
    drawn = generator.integers("golden", (6,), below=1000)
    assert drawn.tolist() == [799, 594, 487, 254, 852, 914]
    orders = generator.permutations("golden", 2, 6)
    assert orders.tolist() == [[1, 3, 2, 4, 5, 0], [4, 3, 1, 5, 0, 2]]
    signs = generator.signs("golden", 16)
    assert signs.tolist() == [-1, -1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("drawn", "expected"),
    [
        (lambda: generator.uniform("golden", (1001,)), "b7d842b4a87eb024"),
        (lambda: generator.integers("golden", (1001,), below=30522), "468f74c33ab530ca"),
        (lambda: generator.permutations("golden", 7, 128), "c1d2245c34fe4eb4"),
        (lambda: generator.signs("golden", 1001), "a4ec7bddd1cfa0c2"),
    ],
)
def test_long_draws_never_change(drawn, expected):
    assert digest(drawn()) == expected


@pytest.mark.parametrize("shape", [(), (1,), (7,), (2, 3), (2, 0, 3), (64, 3, 7, 7)])
def test_shapes_and_types(shape):
    uniform = generator.uniform("k", shape)
    integers = generator.integers("k", shape, below=5)
    assert (uniform.shape, uniform.dtype) == (shape, np.float32)
    assert (integers.shape, integers.dtype) == (shape, np.int64)


def test_a_shorter_draw_is_the_beginning_of_a_longer_one():
    long = generator.uniform("k", (1000,))
    for count in (1, 2, 999):
        assert np.array_equal(generator.uniform("k", (count,)), long[:count])


def test_draws_of_different_keys_are_unrelated():
    one, other = (generator.uniform(key, (100_000,)) for key in ("a/0/w", "a/1/w"))
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.02


def test_uniform_is_uniform_on_its_half_open_grid():
    drawn = generator.uniform("sanity", (200_000,)).astype(np.float64)
    assert drawn.min() >= -1
    assert drawn.max() < 1
    assert np.array_equal(drawn * 2**23, np.round(drawn * 2**23))
    counts, _ = np.histogram(drawn, bins=20, range=(-1, 1))
    assert np.abs(counts / 10_000 - 1).max() < 0.05
    assert abs(drawn.mean()) < 0.005
    assert abs(drawn.var() - 1 / 3) < 0.005


def test_integers_reach_all_values_evenly():
    drawn = generator.integers("sanity", (100_000,), below=10)
    counts = np.bincount(drawn, minlength=10)
    assert len(counts) == 10
    assert np.abs(counts / 10_000 - 1).max() < 0.05


def test_permutations_are_permutations_and_differ():
    orders = generator.permutations("sanity", 50, 128)
    assert np.array_equal(np.sort(orders, axis=1), np.tile(np.arange(128), (50, 1)))
    assert len({tuple(order) for order in orders}) == 50


def test_signs_are_balanced():
    drawn = generator.signs("sanity", 100_000)
    assert drawn.dtype == np.int8
    assert set(drawn.tolist()) == {-1, 1}
    assert abs(drawn.mean()) < 0.02
