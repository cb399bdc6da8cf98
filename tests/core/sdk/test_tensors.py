"""Canonical tensors reach a model whatever its layout, and an incomplete load is refused."""

from __future__ import annotations

import numpy as np
import pytest

from mbench.sdk import tensors
from mbench.sdk.tensors import Native


class Array(Native):
    def assign(self, array):
        self.tensor[...] = array

    def fetch(self):
        return self.tensor.copy()


def model():
    return {
        "dense": Array(np.zeros((3, 2)), trainable=True, axes=(1, 0)),
        "kernel": Array(np.zeros((5, 6, 3, 2)), trainable=True, axes=(2, 3, 1, 0)),
        "mean": Array(np.zeros(4), trainable=False),
    }


def arrays():
    shapes = {"dense": (2, 3), "kernel": (2, 3, 5, 6), "mean": (4,)}
    return {name: np.random.default_rng(0).normal(size=shape) for name, shape in shapes.items()}


def test_what_is_loaded_is_read_in_the_canonical_layout():
    natives = model()
    tensors.load(natives, arrays().items())
    assert {name: native.shape for name, native in natives.items()} == {
        name: array.shape for name, array in arrays().items()
    }
    for name, array in tensors.read(natives):
        np.testing.assert_array_equal(array, arrays()[name])
    kernel = natives["kernel"].tensor
    np.testing.assert_array_equal(kernel, arrays()["kernel"].transpose(2, 3, 1, 0))


def test_what_is_trainable_is_told():
    assert list(tensors.trainable(model())) == ["dense", "kernel"]
    assert tensors.trainable_scalars(model()) == 6 + 180


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"more": np.zeros(1)}, "the model has no more; it has mean"),
        ({"dense": np.zeros((3, 2))}, r"dense is \(2, 3\) in the model, not \(3, 2\)"),
        ({"mean": None}, "the model has mean, which was left out"),
    ],
)
def test_other_tensors_are_refused_by_name(change, said):
    given = {name: a for name, a in {**arrays(), **change}.items() if a is not None}
    with pytest.raises(ValueError, match=said):
        tensors.load(model(), given.items())


def test_a_tensor_that_comes_twice_is_refused():
    twice = [*arrays().items(), *arrays().items()]
    with pytest.raises(ValueError, match="dense came twice"):
        tensors.load(model(), twice)
