"""Bare work by which MXNet shows what the machine can do at most."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mxnet as mx

if TYPE_CHECKING:
    from mbench_mxnet.compiler import Eager
    from mbench_mxnet.precision import Precision

__all__ = ["Accumulate", "MatMul"]


class Bare:
    """What both share: random operands in the type of the precision's products."""

    def __init__(self, shape: tuple[int, ...], precision: Precision, compiler: Eager) -> None:
        self._compiler = compiler
        self._a, self._b = (
            mx.nd.cast(
                mx.nd.random.uniform(shape=shape, ctx=compiler.device), dtype=precision.products
            )
            for _ in range(2)
        )

    def synchronize(self) -> None:
        self._compiler.synchronize()


class MatMul(Bare):
    """C = A B' of square matrices, as the dense layer that MXNet has in every precision."""

    def __init__(self, size: int, precision: Precision, compiler: Eager) -> None:
        super().__init__((size, size), precision, compiler)
        self._size = size

    def step(self) -> None:
        self._c = mx.nd.FullyConnected(self._a, self._b, num_hidden=self._size, no_bias=True)


class Accumulate(Bare):
    """B = B + A of vectors, in place."""

    def __init__(self, elements: int, precision: Precision, compiler: Eager) -> None:
        super().__init__((elements,), precision, compiler)

    def step(self) -> None:
        mx.nd.elemwise_add(self._b, self._a, out=self._b)
