"""Slips in a small network of three layers, located by filling its tensors with one number."""

from __future__ import annotations

import numpy as np
import pytest

from mbench.contract import generator
from mbench.contract.workload import Tensor
from mbench.proofs.locate import located

TENSORS = [
    Tensor("one.weight", (8, 8), 0.6),
    Tensor("one.bias", (8,), 0.6),
    Tensor("two.weight", (8, 8), 0.6),
    Tensor("two.bias", (8,), 0.6),
    Tensor("norm.running_var", (8,), 0.5, 1.0, trainable=False),
    Tensor("three.weight", (4, 8), 0.6),
    Tensor("three.bias", (4,), 0.6),
]
X = generator.uniform("x", (5, 8)).astype(np.float64)


def outputs(filled, *, turned=(), epsilon=1e-5, power=1.0, final=0.0):
    """Outputs if `filled` tensors hold one number each, and `turned` ones have reversed rows."""
    values = {}
    for tensor in TENSORS:
        drawn = tensor.center + tensor.scale * generator.uniform(tensor.name, tensor.shape)
        values[tensor.name] = np.full(tensor.shape, filled.get(tensor.name, 0.0))
        if tensor.name not in filled:
            values[tensor.name] = drawn[::-1] if tensor.name in turned else drawn
    x = np.tanh(X @ values["one.weight"].T + values["one.bias"])
    x = np.tanh(power * (x @ values["two.weight"].T) + values["two.bias"])
    x = x / np.sqrt(values["norm.running_var"] + epsilon)
    return x @ values["three.weight"].T + values["three.bias"] + final


def find(**slip):
    reports = []

    def error(filled):
        due = outputs(filled)
        return float(np.linalg.norm(outputs(filled, **slip) - due) / np.linalg.norm(due))

    return located(error, TENSORS, report=reports.append), reports


@pytest.mark.parametrize("name", [tensor.name for tensor in TENSORS])
def test_one_tensor_in_another_order(name):
    found, reports = find(turned=[name])
    assert found.tensors == [name]
    assert found.said.startswith(f"outputs agree once all numbers of {name} are alike")
    assert found.errors[name] < 1e-9 < min(e for n, e in found.errors.items() if n != name)
    assert reports == ["outputs with one of 7 tensors alike at a time"]


def test_several_tensors_in_another_order():
    found, _ = find(turned=["one.weight", "two.weight", "three.bias"])
    assert found.tensors == ["one.weight", "two.weight", "three.bias"]
    assert "all numbers of each of one.weight, two.weight, three.bias are alike" in found.said


@pytest.mark.parametrize(
    ("slip", "name"),
    [({"power": 1.5}, "two.weight"), ({"epsilon": 1e-3}, "three.weight")],
)
def test_a_slip_in_what_is_done_with_a_tensor(slip, name):
    """A wrong epsilon shows at the weight after the norm, as the norm has no weight of its own."""
    found, _ = find(**slip)
    assert found.tensors == [name]
    assert found.filled == "zero"
    assert f"agree once {name} is zero: look at what is done with it and just before" in found.said


def test_a_slip_that_no_tensor_hides():
    found, _ = find(final=1.0)
    assert found.tensors == []
    assert found.said == "no single tensor: outputs differ whichever one is zero"


def test_no_slip():
    found, reports = find()
    assert found.tensors == reports == []
    assert "outputs agree with the proven framework's here" in found.said


def test_outputs_that_are_not_finite_are_none():
    errors = iter([1.0, 1.0, 1.0, 1.0, float("inf"), 1.0])
    found = located(lambda filled: next(errors), TENSORS[:2], report=lambda text: None)
    assert found.tensors == []
    assert found.errors == {"one.weight": None, "one.bias": 1.0}
