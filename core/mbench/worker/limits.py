"""A bound on a worker's memory, so that too large a case fails alone and by name."""

from __future__ import annotations

import contextlib
import resource
import sys

__all__ = ["limit_memory", "peak_resident_bytes"]


def limit_memory(limit_bytes: int) -> None:
    """Let allocations beyond `limit_bytes` of private memory fail, instead of swapping.

    RLIMIT_DATA counts private writable memory only (Linux 4.7 and newer), so address space that
    is merely reserved stays free.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        limit_bytes = min(limit_bytes, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit_bytes, hard))


def peak_resident_bytes() -> int:
    """Most resident memory of this process so far, for adapters on CPU.

    Linux's getrusage also knows what the parent held when it forked, so that is the last resort.
    """
    with contextlib.suppress(OSError), open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
