"""Layers whose inputs choose what is computed: rows of tables, and experts.

Shapes: B batch, N category numbers, n of them in a bag, F features, D width; for mixtures of
experts, T tokens, E experts, K of them chosen for a token, n rows of an expert. -1 stands for a
length that varies from run to run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench_onnxruntime.layers import Net

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench_onnxruntime.graph import Value

__all__ = ["SparseNet"]


class SparseNet(Net):
    """The layers of all families."""

    def summed(self, x: Value) -> Value:
        """Sum over the second axis."""
        shape = (x.shape[0], *x.shape[2:])
        return self.add("ReduceSum", x, self.constant([1]), shape=shape, keepdims=0)

    # For recommenders.

    def divided(self, x: Value, counts: Sequence[int]) -> list[Value]:
        shapes = [(x.shape[0], count) for count in counts]
        return self.several("Split", [x, self.constant(counts)], shapes, axis=1)

    def bag(self, table: Value, ids: Value) -> Value:
        return self.summed(self.rows(table, ids))

    def squared(self, x: Value) -> Value:
        size, features, _ = x.shape
        turned = self.transposed(x, 0, 2, 1)
        return self.add("MatMul", x, turned, shape=(size, features, features))

    def columns(self, x: Value, numbers: Sequence[int]) -> Value:
        chosen = self.constant(numbers)
        return self.add("Gather", x, chosen, shape=(x.shape[0], len(numbers)), axis=1)

    def multiplied(self, weight: str, x: Value, outputs: int) -> Value:
        """The tensor is (in, out) here."""
        found = self.tensor(weight, (x.shape[-1], outputs), (1, 0))
        return self.by_matrix(x, found, outputs)

    # For mixtures of experts.

    def lengths(self, x: Value) -> Sequence[int]:
        return x.shape

    def softmax(self, x: Value) -> Value:
        return self.add("Softmax", x, axis=-1)

    def largest(self, x: Value, count: int) -> list[Value]:
        """The first of equal values, as ONNX specifies."""
        shape = (*x.shape[:-1], count)
        return self.several("TopK", [x, self.constant([count])], [shape, shape], axis=-1)

    def shares(self, x: Value) -> Value:
        sums = self.add("ReduceSum", x, self.constant([-1]), shape=(*x.shape[:-1], 1), keepdims=1)
        return self.add("Div", x, sums)

    def places(self, numbers: Value, number: int) -> Value:
        equal = self.add("Equal", numbers, self.constant(number))
        return self.reshaped(self.add("NonZero", equal, shape=(1, -1)), -1)

    def quotients(self, x: Value, divisor: int) -> Value:
        return self.add("Div", x, self.constant(divisor))

    def matrices(self, name: str, shape: Sequence[int]) -> list[Value]:
        """The tensor is (E, in, out) here; its matrices become constants with the session."""
        count, outputs, inputs = shape
        whole = self.tensor(name, (count, inputs, outputs), (0, 2, 1))
        return [self.rows(whole, self.constant(number)) for number in range(count)]

    def by_matrix(self, x: Value, matrix: Value, outputs: int) -> Value:
        return self.add("MatMul", x, matrix, shape=(*x.shape[:-1], outputs))

    def ordered(self, rows: Sequence[Value], places: Sequence[Value]) -> Value:
        mixed = self.add("Concat", *rows, shape=(-1, rows[0].shape[-1]), axis=0)
        found = self.add("Concat", *places, shape=(-1,), axis=0)
        count = self.add("Size", found, shape=())
        every = self.add("Range", self.constant(0), count, self.constant(1), shape=(-1,))
        order = self.add("ScatterElements", found, found, every, axis=0)
        return self.rows(mixed, order)
