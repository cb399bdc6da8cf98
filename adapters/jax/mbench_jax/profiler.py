"""JAX's own profiler, jax.profiler: on CUDA, XLA asks CUPTI for every kernel."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import jax

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["profiled"]


@contextmanager
def profiled(folder: str) -> Iterator[None]:
    """Python's own calls are left out: there are thousands, and a trace has room for a million."""
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    with jax.profiler.trace(folder, profiler_options=options):
        yield
