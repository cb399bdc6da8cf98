"""Operators in the tiny framework: their definitions, and how flaky tells lies about them.

shared: all calls of a step return what the first one computes, as if they were equal. unread: only
the last output is computed. zeros: products are with zeros, which is quick. deaf: gradients are
along ones, not along the directions. flat: each number of an output is its mean. sleepy: a linear
layer sleeps.
"""

from __future__ import annotations

import time

import numpy as np

SLEEP_SECONDS = 0.02
"""Long compared with what a busy machine adds to a sleep."""


class Operator(dict):
    """The operator's tensors by name."""

    lie = ""

    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        self.trained = {}
        for call in range(kind.calls):
            for tensor in kind.weights():
                self[f"calls.{call}.{tensor.name}"] = np.zeros(tensor.shape)
                self.trained[f"calls.{call}.{tensor.name}"] = tensor.trainable

    def operands(self, batch, call):
        """The operands of a call, by their names in the definition."""
        own = {one.name: batch[f"{one.name}.{call}"] for one in self.kind.inputs()}
        own |= {tensor.name: self[f"calls.{call}.{tensor.name}"] for tensor in self.kind.weights()}
        if self.lie == "zeros":
            own["weight"] = np.zeros_like(own["weight"])
        if self.lie == "sleepy" and self.kind.kind == "linear":
            time.sleep(SLEEP_SECONDS)
        return own


def build(kind):
    return Operator(kind)


def forward(model, batch):
    found = {
        f"output.{call}": model.kind.forward(model.operands(batch, of), training=False)
        for call, of in enumerate(calls(model))
    }
    if model.lie == "flat":
        return {name: np.full_like(array, array.mean()) for name, array in found.items()}
    return found


def differentiate(model, batch):
    found = {}
    for call, of in enumerate(calls(model)):
        operands, direction = model.operands(batch, of), batch[f"direction.{of}"]
        found[f"output.{call}"] = model.kind.forward(operands, training=True)
        if model.lie == "deaf":
            direction = np.ones_like(direction)
        for name, gradient in model.kind.backward(operands, direction).items():
            if f"calls.{call}.{name}" in model:
                found[f"gradient.calls.{call}.{name}"] = gradient
            else:
                found[f"gradient.{name}.{call}"] = gradient
    return found


def calls(model):
    """For each call, the number of the call whose operands it really uses."""
    every = range(model.kind.calls)
    if model.lie == "shared":
        return [0 for _ in every]
    if model.lie == "unread":
        return [every[-1] for _ in every]
    return list(every)
