"""Workers whose memory and threads lie alike in every process: what steadiness "steady" means."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mbench.telemetry.kernel import HUGE_PAGES, read

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["fixed_addresses", "lack", "variables"]

TUNABLES = {
    "glibc.malloc.hugetlb": "1",  # large blocks come in huge pages, by madvise
    # Freed blocks stay with the process; by default large ones go back to the kernel at each step
    # and come again as other pages.
    "glibc.malloc.mmap_threshold": "4294967296",
    "glibc.malloc.trim_threshold": "68719476736",
}
BOUND = {"OMP_PROC_BIND": "true", "OMP_PLACES": "cores"}
GLIBC = (2, 35)
"""The first that has the tunable of huge pages."""
ADDR_NO_RANDOMIZE = 0x0040000  # of <sys/personality.h>
ASK = 0xFFFFFFFF


def variables() -> dict[str, str]:
    """Of a worker; what the user has set stays as it is, each tunable by itself."""
    theirs = os.environ.get("GLIBC_TUNABLES", "")
    given = dict(item.split("=", 1) for item in theirs.split(":") if "=" in item)
    tunables = ":".join(f"{name}={value}" for name, value in {**TUNABLES, **given}.items())
    left = {name: value for name, value in BOUND.items() if name not in os.environ}
    return {"GLIBC_TUNABLES": tunables, **left}


@contextmanager
def fixed_addresses() -> Iterator[None]:
    """What this thread starts within it gets the same addresses each time.

    A process inherits that from the thread that starts it, so that nothing has to be told to it.
    Raises OSError where it is not allowed.
    """
    personality = ctypes.CDLL(None, use_errno=True).personality
    before = personality(ASK)
    if before < 0 or personality(before | ADDR_NO_RANDOMIZE) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"addresses cannot be fixed here: {os.strerror(number)}")
    try:
        yield
    finally:
        personality(before)


def lack() -> str:
    """Why this machine cannot start such workers, with the mend; empty if it can."""
    if sys.platform != "linux":
        return "fixed addresses and huge pages are Linux's"
    name, version = platform.libc_ver()
    if name != "glibc" or tuple(map(int, version.split(".")[:2])) < GLIBC:
        here = f"{name or 'another C library'} {version}".strip()
        return f"huge pages take glibc {'.'.join(map(str, GLIBC))} or newer, and this is {here}"
    pages = read(HUGE_PAGES)
    if pages is None or "[never]" in pages:
        return f"transparent huge pages are off: echo madvise | sudo tee {HUGE_PAGES}"
    try:
        with fixed_addresses():
            return ""
    except OSError as error:
        return f"{error.strerror}; in a container, give it --security-opt seccomp=unconfined"
