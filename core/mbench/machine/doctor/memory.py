"""Checks memory: its size, swapping, and its pages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import psutil

from mbench.contract.device import Check, fail, ok, warn
from mbench.machine.kernel import HUGE_PAGES, read
from mbench.machine.memory_layout import limitation

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["examine"]

LEAST_BYTES = 512 * 2**20
"""Roughly what one framework needs."""
ENOUGH_BYTES = 8 * 2**30
"""Enough for two frameworks at the same time, each with a common model."""


def examine() -> Iterator[Check]:
    yield from size()
    yield from swap()
    yield from pages()


def size() -> Iterator[Check]:
    """How much memory is free."""
    available, total = psutil.virtual_memory().available, psutil.virtual_memory().total
    found = f"{available / 2**30:.1f} of {total / 2**30:.1f} GiB available"
    hint = "all frameworks of a comparison are in memory at the same time: end other programs"
    if available < LEAST_BYTES:
        yield fail("memory", found, "no framework fits: end other programs")
    elif available < ENOUGH_BYTES:
        yield warn("memory", found, f"{hint}, or use smaller batches")
    else:
        yield ok("memory", found)


def swap() -> Iterator[Check]:
    """How much memory was swapped out."""
    there = psutil.swap_memory()
    found = f"{there.used / 2**20:,.0f} of {there.total / 2**20:,.0f} MiB in use"
    if there.used > there.total / 100:
        yield warn("swap", found, "memory was scarce: free some, then sudo swapoff -a")
    else:
        yield ok("swap", found if there.total else "none")


def pages() -> Iterator[Check]:
    """Huge pages, and whether workers can have a fixed memory layout."""
    if chosen := re.search(r"\[(\w+)\]", read(HUGE_PAGES) or ""):
        if chosen[1] == "always":
            yield warn("transparent huge pages", "always",
                       "whether a process gets them is random, and fixed for its lifetime: "
                       f"echo madvise | sudo tee {HUGE_PAGES}")  # fmt: skip
        else:
            yield ok("transparent huge pages", chosen[1])
    if reason := limitation():
        yield warn("steady workers", "not possible here, so --steady is refused", reason)
    else:
        yield ok("steady workers", "possible: --steady narrows intervals")
