"""Collectives: operations that several processes do together, on whole numbers of each.

Every rank gives other whole numbers, small enough that their sums are exact in every precision. So
what each rank gets is right to the last bit, or wrong. Sizes and bandwidths are those of nccl-tests
(its doc/PERFORMANCE.md).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from mbench.older import prod, zipped
from mbench.workloads.operators.operator import FLOAT_BYTES, Kind, Operand, Operator
from mbench.workloads.workload import rank_seed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    Arrays = Mapping[str, Any]

__all__ = ["COLLECTIVES", "Collective", "Together", "answers"]

MOST_SUM, MOST = 256, 16
"""Up to the first, whole numbers are exact in bfloat16; payloads are below the second."""
FACTORS = 4
"""Factors of products are below it."""


@dataclass(frozen=True, kw_only=True)
class Collective(Kind):
    """Each rank's call has inputs of its own."""

    precisions: ClassVar[tuple[str, ...]] = ("fp64", "fp32")
    """Those in which its whole numbers are exact."""

    ranks: int = 1

    def message(self) -> int:
        """Elements that algorithm bandwidth counts: the larger of what a rank gives and gets."""
        raise NotImplementedError(f"{type(self).__name__} must know its message")

    def bus_share(self) -> float | None:
        """Bus bandwidth over algorithm bandwidth: what each rank's link must carry at least. None
        where the time is not the collective's alone.
        """
        return None

    def gives(self, x: Arrays) -> Any:
        """What a rank gives, of its inputs."""
        return x["x"]

    def together(self, payloads: Sequence[np.ndarray]) -> Sequence[np.ndarray | None]:
        """What each rank gets of what all give, by rank; None where it gets nothing."""
        raise NotImplementedError(f"{type(self).__name__} must be defined")

    def alone(self, x: Arrays) -> dict[str, np.ndarray]:
        """What a rank computes beside, by name."""
        return {}


@dataclass(frozen=True, kw_only=True)
class Exchange(Collective):
    """`elements` are those that a rank gives, or where parts are spread, those that it keeps."""

    dims: ClassVar[tuple[str, ...]] = ("elements",)
    proof_sizes: ClassVar[Mapping[str, int]] = {"elements": 4096}
    precisions: ClassVar[tuple[str, ...]] = ("fp64", "fp32", "bf16", "fp16")

    elements: int

    def payload(self) -> Operand:
        """What a rank gives."""
        below = max(2, min(MOST, MOST_SUM // self.ranks))
        return Operand("x", (self.elements,), below=below)

    def inputs(self) -> list[Operand]:
        return [self.payload()]

    def outputs(self) -> tuple[int, ...]:
        return (self.elements,)

    def message(self) -> int:
        return self.elements

    def bus_share(self) -> float | None:
        return 1.0


@dataclass(frozen=True, kw_only=True)
class AllReduce(Exchange):
    """Every rank gets the sum."""

    kind: ClassVar[str] = "all_reduce"
    says: ClassVar[str] = "Sum of all ranks, for all"

    def bus_share(self) -> float | None:
        return 2 * (self.ranks - 1) / self.ranks

    def together(self, payloads: Sequence[np.ndarray]) -> Sequence[np.ndarray | None]:
        return [sum(payloads[1:], payloads[0])] * self.ranks


@dataclass(frozen=True, kw_only=True)
class AllGather(Exchange):
    """Every rank gets what all give, in the order of ranks."""

    kind: ClassVar[str] = "all_gather"
    says: ClassVar[str] = "What all ranks give, for all"

    def outputs(self) -> tuple[int, ...]:
        return (self.message(),)

    def message(self) -> int:
        return self.ranks * self.elements

    def bus_share(self) -> float | None:
        return (self.ranks - 1) / self.ranks

    def together(self, payloads: Sequence[np.ndarray]) -> Sequence[np.ndarray | None]:
        import numpy as np

        return [np.concatenate(payloads)] * self.ranks


@dataclass(frozen=True, kw_only=True)
class Broadcast(Exchange):
    """Every rank gets what rank 0 gives."""

    kind: ClassVar[str] = "broadcast"
    says: ClassVar[str] = "What rank 0 gives, for all"

    def together(self, payloads: Sequence[np.ndarray]) -> Sequence[np.ndarray | None]:
        return [payloads[0]] * self.ranks


@dataclass(frozen=True, kw_only=True)
class Reduce(Exchange):
    """Rank 0 gets the sum."""

    kind: ClassVar[str] = "reduce"
    says: ClassVar[str] = "Sum of all ranks, for rank 0"

    def together(self, payloads: Sequence[np.ndarray]) -> Sequence[np.ndarray | None]:
        return [sum(payloads[1:], payloads[0]), *[None] * (self.ranks - 1)]


@dataclass(frozen=True, kw_only=True)
class ReduceScatter(Exchange):
    """Every rank gets its part of the sum: of as many parts as there are ranks, in their order."""

    kind: ClassVar[str] = "reduce_scatter"
    says: ClassVar[str] = "Sum of all ranks, a part for each"

    def payload(self) -> Operand:
        return dataclasses.replace(super().payload(), shape=(self.message(),))

    def message(self) -> int:
        return self.ranks * self.elements

    def bus_share(self) -> float | None:
        return (self.ranks - 1) / self.ranks

    def together(self, payloads: Sequence[np.ndarray]) -> Sequence[np.ndarray | None]:
        import numpy as np

        return np.split(sum(payloads[1:], payloads[0]), self.ranks)


@dataclass(frozen=True, kw_only=True)
class Overlap(AllReduce):
    """An all-reduce, and while it is under way a product of a and b; done when both are."""

    precisions: ClassVar[tuple[str, ...]] = ("fp64", "fp32")

    def bus_share(self) -> float | None:
        return None

    def factors(self) -> Sequence[tuple[int, ...]]:
        """The shapes of a and b."""
        raise NotImplementedError(f"{type(self).__name__} must know its factors")

    def inputs(self) -> list[Operand]:
        named = zipped(("a", "b"), self.factors())
        return [self.payload(), *(Operand(name, shape, below=FACTORS) for name, shape in named)]


@dataclass(frozen=True, kw_only=True)
class OverlapMul(Overlap):
    """Meanwhile a by b, number by number, each of `numbers`."""

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
    """Meanwhile a (m, k) by b (k, n)."""

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
    """A product of which every rank has a part: a (m, k) by b (k, n) are those of one rank."""

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

    def gives(self, x: Arrays) -> Any:
        return x["a"] @ x["b"]


@dataclass(frozen=True, kw_only=True)
class MatMulAllReduce(Sharded):
    """Sharded along k: the sum of all ranks' products is the whole one, and every rank gets it."""

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


COLLECTIVES: Mapping[str, type[Collective]] = {
    kind.kind: kind
    for kind in (
        AllReduce, AllGather, Broadcast, Reduce, ReduceScatter, OverlapMul, OverlapMatMul,
        MatMulAllReduce, MatMulAllGather,
    )
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Together(Operator):
    """One kind of collective at some sizes."""

    config: Collective

    @property
    def exchanges(self) -> bool:
        return True

    def among(self, devices: int) -> Together:
        return dataclasses.replace(self, config=dataclasses.replace(self.config, ranks=devices))

    def lacking(self, *, mode: str, precision: str, devices: int) -> str:
        if devices == 1:
            return f"{self.name} takes several devices: use --scale 1x2"
        if mode == "train":
            return f"{self.name} has no gradients: use --mode inference"
        if precision not in self.config.precisions:
            known = ", ".join(self.config.precisions)
            return f"{self.name} is of whole numbers that are exact in {known} only"
        return ""

    def batch(self, size: int, *, seed: int) -> dict[str, np.ndarray]:
        return given(self.config, seed)

    def answers(self, *, seed: int, batch: int) -> dict[str, np.ndarray]:
        return answers(self.config, batch)[0]

    def exchanged(self) -> tuple[int, float] | None:
        share = self.config.bus_share()
        return None if share is None else (self.config.message(), share)

    def moved_bytes(self, mode: str, *, number_bytes: int = FLOAT_BYTES) -> int | None:
        """None: no device's memory is the roof of what devices exchange."""
        return None


def given(config: Collective, seed: int) -> dict[str, np.ndarray]:
    """What one rank has: whole numbers, as float32, each "x.0" of its call."""
    import numpy as np

    from mbench.workloads import generator

    found = {}
    for call in range(config.calls):
        for one in config.inputs():
            name = f"{one.name}.{call}"
            drawn = generator.integers(f"data/{seed}/{name}", one.shape, below=one.below)
            found[name] = drawn.astype(np.float32)
    return found


def answers(config: Collective, seed: int) -> list[dict[str, np.ndarray]]:
    """What a step gives each rank, exactly, by rank: "output.0" of the exchange, and "product.0" of
    what is computed meanwhile. Float64; `seed` is that of rank 0's batch.
    """
    import numpy as np

    of_ranks = [given(config, seed + rank_seed(rank)) for rank in range(config.ranks)]
    found: list[dict[str, np.ndarray]] = [{} for _ in of_ranks]
    for call in range(config.calls):
        every = [
            {one.name: of_rank[f"{one.name}.{call}"].astype(np.float64) for one in config.inputs()}
            for of_rank in of_ranks
        ]
        got = config.together([config.gives(own) for own in every])
        for rank, (own, array) in enumerate(zipped(every, got)):
            if array is not None:
                found[rank][f"output.{call}"] = array
            for name, beside in config.alone(own).items():
                found[rank][f"{name}.{call}"] = beside
    return found
