"""Exchanges between processes, as defined: the integers that each gives, and what each gets.

Sizes and bandwidths are defined as in nccl-tests (see its doc/PERFORMANCE.md).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from mbench.workloads.operators.operator import Kind, Operand

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    Arrays = Mapping[str, np.ndarray]

__all__ = ["AllGather", "AllReduce", "Broadcast", "Collective", "Exchange", "Reduce",
           "ReduceScatter", "SendReceive"]  # fmt: skip

MOST_SUM, MOST = 256, 16
"""Integers up to the first are exact in bfloat16; payloads are below the second."""


@dataclass(frozen=True, kw_only=True)
class Collective(Kind):
    """Each rank's call has its own inputs."""

    precisions: ClassVar[tuple[str, ...]] = ("fp64", "fp32")
    """Precisions in which its integers are exact."""

    ranks: int = 1

    def message(self) -> int:
        """Elements counted for algorithm bandwidth: the larger of what a rank gives and gets."""
        raise NotImplementedError(f"{type(self).__name__} must define the size of its message")

    def bus_share(self) -> float | None:
        """Bus bandwidth over algorithm bandwidth: the least that each rank's link must carry. None
        if the time includes more than the collective.
        """
        return None

    def gives(self, x: Arrays) -> np.ndarray:
        """What a rank gives, from its inputs."""
        return x["x"]

    def together(self, payloads: Sequence[np.ndarray]) -> Sequence[np.ndarray | None]:
        """What each rank gets from what all give, by rank; None for a rank that gets nothing."""
        raise NotImplementedError(f"{type(self).__name__} must define what each rank gets")

    def alone(self, x: Arrays) -> dict[str, np.ndarray]:
        """What a rank also computes, by name."""
        return {}


@dataclass(frozen=True, kw_only=True)
class Exchange(Collective):
    """`elements` is how many a rank gives or, where parts are distributed, how many it keeps."""

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
    """Every rank gets its part of the sum, which has one part per rank, in the order of ranks."""

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
class SendReceive(Exchange):
    """A ring: every rank gets what the one before it gives, and the first what the last gives."""

    kind: ClassVar[str] = "send_receive"
    says: ClassVar[str] = "What each rank sends, for the next"

    def together(self, payloads: Sequence[np.ndarray]) -> Sequence[np.ndarray | None]:
        return [payloads[-1], *payloads[:-1]]
