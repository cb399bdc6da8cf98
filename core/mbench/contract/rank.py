"""The processes that work on a case together: how many there are, and which one this is."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

__all__ = ["ALONE", "SINGLE", "RankInfo", "Scale", "parse_scale", "ranks_of"]

WORD = re.compile(r"([1-9][0-9]{0,5})x([1-9][0-9]{0,3})")
ALONE = "1x1"


@dataclass(frozen=True, kw_only=True)
class Scale:
    """Nodes times devices per node, as in 2x8; one process per device."""

    nodes: int
    devices_per_node: int

    @property
    def devices(self) -> int:
        return self.nodes * self.devices_per_node


def parse_scale(word: str) -> Scale:
    """Parses a scale such as "2x8"; raises ValueError."""
    match = WORD.fullmatch(word)
    if match is None:
        raise ValueError(f"{word!r} is not a scale: write nodes x devices, as in 2x8")
    return Scale(nodes=int(match[1]), devices_per_node=int(match[2]))


@dataclass(frozen=True, kw_only=True)
class RankInfo:
    """One of `ranks` processes."""

    rank: int = 0
    ranks: int = 1
    local_rank: int = 0
    """Which of its machine's devices it uses, counted from 0."""
    local_ranks: int = 1
    """How many of the processes are on its machine."""
    peers: list[str] = field(default_factory=list)
    """Where each rank's framework may listen, "address:port", by rank; empty for a single rank."""

    @property
    def meet(self) -> str:
        """Where the framework's own rendezvous is: at rank 0."""
        return self.peers[0] if self.peers else ""

    @property
    def own(self) -> str:
        """Where this process may listen."""
        return self.peers[self.rank] if self.peers else ""


SINGLE = RankInfo()


def ranks_of(scale: Scale) -> list[RankInfo]:
    """All processes of a case, by rank: those of one node are consecutive."""
    each = scale.devices_per_node
    return [
        RankInfo(rank=rank, ranks=scale.devices, local_rank=rank % each, local_ranks=each)
        for rank in range(scale.devices)
    ]
