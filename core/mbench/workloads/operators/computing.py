"""Collectives that also compute: a product during an exchange, or a sharded product."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from mbench.contract.compat import prod, zipped
from mbench.workloads.operators.exchanges import AllGather, AllReduce, Collective
from mbench.workloads.operators.operator import Operand

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    Arrays = Mapping[str, np.ndarray]

__all__ = ["MatMulAllGather", "MatMulAllReduce", "OverlapMatMul", "OverlapMul"]

FACTORS = 4
"""The elements of a and b are integers below this."""


@dataclass(frozen=True, kw_only=True)
class Overlap(AllReduce):
    """An all-reduce with a product of a and b computed meanwhile; done when both are."""

    precisions: ClassVar[tuple[str, ...]] = ("fp64", "fp32")

    def bus_share(self) -> float | None:
        return None

    def factors(self) -> Sequence[tuple[int, ...]]:
        """The shapes of a and b."""
        raise NotImplementedError(f"{type(self).__name__} must define its factors")

    def inputs(self) -> list[Operand]:
        named = zipped(("a", "b"), self.factors())
        return [self.payload(), *(Operand(name, shape, below=FACTORS) for name, shape in named)]


@dataclass(frozen=True, kw_only=True)
class OverlapMul(Overlap):
    """Meanwhile multiplies a and b elementwise, each with `numbers` elements."""

    kind: ClassVar[str] = "overlap_mul"
    dims: ClassVar[tuple[str, ...]] = ("elements", "numbers")
    says: ClassVar[str] = "All-reduce, and a product of vectors meanwhile"
    proof_sizes: ClassVar[Mapping[str, int]] = {"elements": 4096, "numbers": 4096}
    numbers: int

    def factors(self) -> Sequence[tuple[int, ...]]:
        return (self.numbers,), (self.numbers,)

    def alone(self, x: Arrays) -> dict[str, np.ndarray]:
        return {"product": x["a"] * x["b"]}


@dataclass(frozen=True, kw_only=True)
class OverlapMatMul(Overlap):
    """Meanwhile multiplies the matrices a (m, k) and b (k, n)."""

    kind: ClassVar[str] = "overlap_matmul"
    dims: ClassVar[tuple[str, ...]] = ("elements", "m", "k", "n")
    says: ClassVar[str] = "All-reduce, and a product of matrices meanwhile"
    proof_sizes: ClassVar[Mapping[str, int]] = {"elements": 4096, "m": 24, "k": 40, "n": 32}
    m: int
    k: int
    n: int

    def factors(self) -> Sequence[tuple[int, ...]]:
        return (self.m, self.k), (self.k, self.n)

    def macs(self) -> int:
        return self.m * self.k * self.n

    def alone(self, x: Arrays) -> dict[str, np.ndarray]:
        return {"product": x["a"] @ x["b"]}


@dataclass(frozen=True, kw_only=True)
class Sharded(Collective):
    """A product of which every rank computes a part: on one rank, a (m, k) times b (k, n)."""

    dims: ClassVar[tuple[str, ...]] = ("m", "k", "n")
    proof_sizes: ClassVar[Mapping[str, int]] = {"m": 24, "k": 40, "n": 32}
    m: int
    k: int
    n: int

    def inputs(self) -> list[Operand]:
        return [Operand("a", (self.m, self.k), FACTORS), Operand("b", (self.k, self.n), FACTORS)]

    def outputs(self) -> tuple[int, ...]:
        return self.m, self.n

    def message(self) -> int:
        return prod(self.outputs())

    def macs(self) -> int:
        return self.m * self.k * self.n

    def gives(self, x: Arrays) -> np.ndarray:
        return x["a"] @ x["b"]


@dataclass(frozen=True, kw_only=True)
class MatMulAllReduce(Sharded):
    """Sharded along k: the whole product is the sum of all ranks' products. Every rank gets it."""

    kind: ClassVar[str] = "matmul_all_reduce"
    says: ClassVar[str] = "Product that is sharded along k, and all-reduced"
    together = AllReduce.together


@dataclass(frozen=True, kw_only=True)
class MatMulAllGather(Sharded):
    """Sharded along m: every rank gets all rows, in the order of ranks."""

    kind: ClassVar[str] = "matmul_all_gather"
    says: ClassVar[str] = "Product that is sharded along m, and all-gathered"
    together = AllGather.together

    def outputs(self) -> tuple[int, ...]:
        return self.ranks * self.m, self.n
