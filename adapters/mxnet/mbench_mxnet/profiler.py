"""MXNet's own profiler, mx.profiler: it reports its engine's operators, and no kernels."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mxnet import profiler

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["profiled"]


@contextmanager
def profiled(folder: str) -> Iterator[None]:
    profiler.set_config(
        filename=os.path.join(folder, "mxnet.json"), profile_symbolic=True, profile_imperative=True
    )
    profiler.set_state("run")
    try:
        yield
    finally:
        profiler.set_state("stop")
        profiler.dump(finished=True)
