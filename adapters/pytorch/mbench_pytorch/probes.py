"""Bare work by which PyTorch shows what the machine can do at most."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from mbench_pytorch.compiler import Eager
    from mbench_pytorch.precision import Precision

__all__ = ["Accumulate", "MatMul"]


class Bare:
    """What both share: random operands in the type of the precision's products."""

    def __init__(self, shape: tuple[int, ...], precision: Precision, compiler: Eager) -> None:
        self._compiler = compiler
        self._a, self._b = (
            torch.rand(shape, device=compiler.device, dtype=precision.products) for _ in range(2)
        )

    def synchronize(self) -> None:
        self._compiler.synchronize()


class MatMul(Bare):
    """C = A B of square matrices."""

    def __init__(self, size: int, precision: Precision, compiler: Eager) -> None:
        super().__init__((size, size), precision, compiler)
        self._c = torch.empty_like(self._a)

    def step(self) -> None:
        torch.mm(self._a, self._b, out=self._c)


class Accumulate(Bare):
    """B = B + A of vectors, in place."""

    def __init__(self, elements: int, precision: Precision, compiler: Eager) -> None:
        super().__init__((elements,), precision, compiler)

    def step(self) -> None:
        self._b.add_(self._a)
