"""TensorFlow's own profiler, tf.profiler.experimental: on CUDA it asks CUPTI for every kernel."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import tensorflow as tf

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["profiled"]


@contextmanager
def profiled(folder: str) -> Iterator[None]:
    options = tf.profiler.experimental.ProfilerOptions(python_tracer_level=0)
    with tf.profiler.experimental.Profile(folder, options=options):
        yield
