"""PyTorch's own profiler, torch.profiler: on CUDA, Kineto asks CUPTI for every kernel."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from torch.profiler import ProfilerActivity, profile

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["profiled"]


@contextmanager
def profiled(folder: str, device: str) -> Iterator[None]:
    activities = [ProfilerActivity.CPU]
    if device == "cuda":
        activities.append(ProfilerActivity.CUDA)
    with profile(activities=activities) as made:
        yield
    made.export_chrome_trace(os.path.join(folder, "torch.json.gz"))
