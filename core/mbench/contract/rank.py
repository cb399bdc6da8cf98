"""Where one process stands among those that work on a case together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mbench.contract.scale import Scale

__all__ = ["SINGLE", "RankInfo", "places_of"]


@dataclass(frozen=True, kw_only=True)
class RankInfo:
    """One of `ranks` processes."""

    rank: int = 0
    ranks: int = 1
    local_rank: int = 0
    """Which of its machine's devices is its own,"""
    local_ranks: int = 1
    """and of how many processes on that machine."""
    peers: list[str] = field(default_factory=list)
    """Where each rank's framework may listen, "address:port", by rank; empty for one alone."""

    @property
    def meet(self) -> str:
        """Where the framework's own rendezvous is: with the first of them."""
        return self.peers[0] if self.peers else ""

    @property
    def own(self) -> str:
        """Where this process may listen."""
        return self.peers[self.rank] if self.peers else ""


SINGLE = RankInfo()


def places_of(scale: Scale) -> list[RankInfo]:
    """Of all processes of a case, by rank: those of one node follow each other."""
    each = scale.devices_per_node
    return [
        RankInfo(rank=rank, ranks=scale.devices, local_rank=rank % each, local_ranks=each)
        for rank in range(scale.devices)
    ]
