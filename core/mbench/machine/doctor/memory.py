"""Looks at memory: how much there is, whether it swaps, and in which pages it comes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import psutil

from mbench.machine.doctor.check import Check, fail, ok, warn
from mbench.machine.kernel import HUGE_PAGES, read
from mbench.machine.memory_layout import lack

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["examine"]

LEAST_BYTES = 512 * 2**20
"""A framework alone takes about as much."""
ENOUGH_BYTES = 8 * 2**30
"""Two frameworks side by side, with a common model each."""


def examine() -> Iterator[Check]:
    """Everything about memory that can be told here."""
    available, total = psutil.virtual_memory().available, psutil.virtual_memory().total
    said = f"{available / 2**30:.1f} of {total / 2**30:.1f} GiB available"
    mend = "all frameworks of a comparison lie in memory side by side: end other programs"
    if available < LEAST_BYTES:
        yield fail("memory", said, "no framework fits: end other programs")
    elif available < ENOUGH_BYTES:
        yield warn("memory", said, f"{mend}, or take smaller batches")
    else:
        yield ok("memory", said)
    swap = psutil.swap_memory()
    said = f"{swap.used / 2**20:,.0f} of {swap.total / 2**20:,.0f} MiB in use"
    if swap.used > swap.total / 100:
        yield warn("swap", said, "memory was scarce: free some, then sudo swapoff -a")
    else:
        yield ok("swap", said if swap.total else "there is none")
    if chosen := re.search(r"\[(\w+)\]", read(HUGE_PAGES) or ""):
        if chosen[1] == "always":
            yield warn("transparent huge pages", "always",
                       "a process gets them or not by chance, and keeps its luck: "
                       f"echo madvise | sudo tee {HUGE_PAGES}")  # fmt: skip
        else:
            yield ok("transparent huge pages", chosen[1])
    if reason := lack():
        yield warn("steady workers", "not possible here, so that --steady is refused", reason)
    else:
        yield ok("steady workers", "possible: --steady narrows intervals")
