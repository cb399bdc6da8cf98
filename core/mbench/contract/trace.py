"""What a framework's own profiler tells of one step: the calls that ran on its device."""

from __future__ import annotations

import math
from dataclasses import dataclass

from mbench.contract.reading import Malformed

__all__ = ["COPY", "GRAPH", "KERNEL", "SET", "DeviceCall", "Traced"]

KERNEL, COPY, SET, GRAPH = "kernel", "copy", "set", "graph"
"""Kinds of call. A copy may say its direction besides: "copy host to device". A graph is one whose
kernels the profiler does not tell one by one."""


@dataclass(frozen=True, kw_only=True)
class DeviceCall:
    """Calls that differ in nothing but their time."""

    kind: str
    name: str
    """As the profiler writes it, whole."""
    launch: str
    """How a kernel was launched: "grid 8x12x1 block 128x1x1"; empty where that is not told."""
    count: int
    milliseconds: float
    """Of all of them, by the profiler's own clock: no timing of the step."""
    moved_bytes: float | None
    """By all of them, where the profiler tells: of copies, and of memory that is set."""

    def __post_init__(self) -> None:
        sizes = (self.milliseconds, self.moved_bytes or 0.0)
        if self.count < 1 or not all(0 <= size < math.inf for size in sizes):
            raise Malformed("DeviceCall.count should be 1 or more, its time and bytes 0 or more")


@dataclass(frozen=True, kw_only=True)
class Traced:
    """The calls of one step in the order of the trace."""

    calls: list[DeviceCall]
    other_events: int
    """What the trace tells besides, of the host mostly: so a trace without calls was read."""
    unread: int
    """Calls without a time that can be read."""
