"""Bare work by which TensorFlow shows what the machine can do at most."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf

if TYPE_CHECKING:
    from mbench_tensorflow.compiler import Eager
    from mbench_tensorflow.precision import Precision

__all__ = ["Accumulate", "MatMul"]


class Bare:
    """What both share: random operands in the type of the precision's products."""

    def __init__(self, shape: tuple[int, ...], precision: Precision, compiler: Eager) -> None:
        self._compiler = compiler
        with tf.device(compiler.placement):
            self._a = tf.random.uniform(shape, dtype=precision.products)
            self._b = tf.Variable(tf.random.uniform(shape, dtype=precision.products))

    def synchronize(self) -> None:
        self._compiler.synchronize()


class MatMul(Bare):
    """C = A B of square matrices."""

    def __init__(self, size: int, precision: Precision, compiler: Eager) -> None:
        super().__init__((size, size), precision, compiler)
        self._b = self._b.read_value()

    def step(self) -> None:
        self._c = tf.linalg.matmul(self._a, self._b)


class Accumulate(Bare):
    """B = B + A of vectors, in place."""

    def __init__(self, elements: int, precision: Precision, compiler: Eager) -> None:
        super().__init__((elements,), precision, compiler)

    def step(self) -> None:
        self._b.assign_add(self._a)
