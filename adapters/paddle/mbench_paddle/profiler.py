"""PaddlePaddle's own profiler, paddle.profiler: on CUDA it asks CUPTI for every kernel."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from paddle.profiler import Profiler, ProfilerTarget, export_chrome_tracing

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["profiled"]


@contextmanager
def profiled(folder: str, device: str) -> Iterator[None]:
    targets = [ProfilerTarget.CPU]
    if device == "cuda":
        targets.append(ProfilerTarget.GPU)
    with Profiler(targets=targets, on_trace_ready=export_chrome_tracing(folder)):
        yield
