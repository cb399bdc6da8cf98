"""How many devices a case has: nodes times the devices of each, as one word: "2x8"."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["ALONE", "Scale", "parse_scale"]

WORD = re.compile(r"([1-9][0-9]{0,5})x([1-9][0-9]{0,3})")
ALONE = "1x1"


@dataclass(frozen=True, kw_only=True)
class Scale:
    """A process for each device."""

    nodes: int
    devices_per_node: int

    @property
    def devices(self) -> int:
        return self.nodes * self.devices_per_node


def parse_scale(word: str) -> Scale:
    """What "2x8" says; raises ValueError."""
    match = WORD.fullmatch(word)
    if match is None:
        raise ValueError(f"{word!r} is not a scale: write nodes x devices, as in 2x8")
    return Scale(nodes=int(match[1]), devices_per_node=int(match[2]))
