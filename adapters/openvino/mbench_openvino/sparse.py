"""Layers whose inputs choose what is computed: rows of tables, and experts.

Shapes: B batch, N category numbers, n of them in a bag, F features, D width; for mixtures of
experts, T tokens, E experts, K of them chosen for a token, n rows of an expert.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench_openvino.layers import Net, Type, lengths, ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench_openvino.layers import Value

__all__ = ["SparseNet"]


class SparseNet(Net):
    """The layers of all families."""

    # For recommenders.

    def divided(self, x: Value, counts: Sequence[int]) -> list[Value]:
        return list(ops.variadic_split(x, self.constant(1), self.constant(counts)).outputs())

    def bag(self, table: Value, ids: Value) -> Value:
        return ops.embedding_bag_packed(table, ids, reduction="sum")

    def squared(self, x: Value) -> Value:
        return self.matrix_product(x, x)

    def columns(self, x: Value, numbers: Sequence[int]) -> Value:
        return ops.gather(x, self.constant(numbers), self.constant(1))

    def multiplied(self, weight: str, x: Value, outputs: int) -> Value:
        return self.matrix_product(x, self.tensor(weight, (outputs, lengths(x)[-1])))

    # For mixtures of experts.

    def lengths(self, x: Value) -> list[int]:
        return lengths(x)

    def softmax(self, x: Value) -> Value:
        return ops.softmax(x, -1)

    def largest(self, x: Value, count: int) -> list[Value]:
        found = ops.topk(
            x, self.constant(count), -1, "max", "value", index_element_type="i64", stable=True
        )
        return list(found.outputs())

    def shares(self, x: Value) -> Value:
        return ops.divide(x, ops.reduce_sum(x, self.constant([-1]), keep_dims=True))

    def places(self, numbers: Value, number: int) -> Value:
        return self.reshaped(ops.non_zero(ops.equal(numbers, self.constant(number)), "i64"), -1)

    def quotients(self, x: Value, divisor: int) -> Value:
        return ops.divide(x, self.constant(divisor))

    def matrices(self, name: str, shape: Sequence[int]) -> list[Value]:
        whole = self.tensor(name, shape)
        return [self.rows(whole, self.constant(number)) for number in range(shape[0])]

    def by_matrix(self, x: Value, matrix: Value, outputs: int) -> Value:
        return self.matrix_product(x, matrix)

    def ordered(self, rows: Sequence[Value], places: Sequence[Value]) -> Value:
        found, zero = ops.concat(list(places), 0), self.constant(0)
        count = ops.squeeze(ops.shape_of(found, "i64"), zero)
        every = ops.range(zero, count, self.constant(1), Type.i64)
        order = ops.scatter_elements_update(found, found, every, zero)
        return self.rows(ops.concat(list(rows), 0), order)

    def summed(self, x: Value) -> Value:
        return ops.reduce_sum(x, self.constant([1]), keep_dims=False)
