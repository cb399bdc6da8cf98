"""A bound on a worker's memory, so that too large a case fails alone and by name."""

from __future__ import annotations

import resource

__all__ = ["limit_memory"]


def limit_memory(limit_bytes: int) -> None:
    """Let allocations beyond `limit_bytes` of private memory fail, instead of swapping.

    RLIMIT_DATA counts private writable memory only (Linux 4.7 and newer), so address space that
    is merely reserved stays free.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        limit_bytes = min(limit_bytes, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit_bytes, hard))
