"""Gives workers the same addresses, pages and cores in every process: steadiness "steady"."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mbench.machine.cores import performance_cores, physical_cores
from mbench.machine.kernel import HUGE_PAGES, read

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

__all__ = ["limitation", "steadily", "variables"]

TUNABLES = {
    "glibc.malloc.hugetlb": "1",  # large blocks come in huge pages, by madvise
    # Freed blocks stay with the process. By default large ones return to the kernel at each step
    # and are replaced by other pages.
    "glibc.malloc.mmap_threshold": "4294967296",
    "glibc.malloc.trim_threshold": "68719476736",
}
GLIBC = (2, 35)
"""The first version with the tunable for huge pages."""
ADDR_NO_RANDOMIZE = 0x0040000  # of <sys/personality.h>
ASK = 0xFFFFFFFF


def variables() -> dict[str, str]:
    """Environment variables of a worker. Tunables that the user has set are kept."""
    theirs = os.environ.get("GLIBC_TUNABLES", "")
    given = dict(item.split("=", 1) for item in theirs.split(":") if "=" in item)
    return {
        "GLIBC_TUNABLES": ":".join(f"{n}={value}" for n, value in {**TUNABLES, **given}.items())
    }


@contextmanager
def steadily(threads: int) -> Iterator[None]:
    """Processes that this thread starts in this context get the same addresses and cores each time.

    A process inherits both from the thread that starts it. Raises OSError if addresses cannot be
    fixed.
    """
    personality = ctypes.CDLL(None, use_errno=True).personality
    before, usable = personality(ASK), os.sched_getaffinity(0)
    if before < 0 or personality(before | ADDR_NO_RANDOMIZE) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"addresses cannot be fixed here: {os.strerror(number)}")
    try:
        os.sched_setaffinity(0, cores_for(threads, usable))
        yield
    finally:
        os.sched_setaffinity(0, usable)
        personality(before)


def cores_for(threads: int, usable: Collection[int]) -> set[int]:
    """A core for each thread, always the same, and different physical cores as far as possible.

    OpenMP's own binding does not achieve this: some frameworks ignore it, and if it binds the first
    thread, other thread pools inherit that single core.
    """
    fast = performance_cores(usable)
    ranked = sorted(
        (core not in fast, at, core)
        for group in physical_cores(usable)
        for at, core in enumerate(group)
    )
    return {core for _, _, core in ranked[:threads]}


def limitation() -> str:
    """Why this machine cannot start steady workers, and what to do; empty if it can."""
    if sys.platform != "linux":
        return "fixed addresses and huge pages need Linux"
    name, version = platform.libc_ver()
    if name != "glibc" or tuple(map(int, version.split(".")[:2])) < GLIBC:
        here = f"{name or 'another C library'} {version}".strip()
        return f"huge pages need glibc {'.'.join(map(str, GLIBC))} or newer, but this is {here}"
    pages = read(HUGE_PAGES)
    if pages is None or "[never]" in pages:
        return f"transparent huge pages are off: echo madvise | sudo tee {HUGE_PAGES}"
    try:
        with steadily(1):
            return ""
    except OSError as error:
        return f"{error.strerror}; run a container with --security-opt seccomp=unconfined"
