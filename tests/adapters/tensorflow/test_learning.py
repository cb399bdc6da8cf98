"""TensorFlow trains tasks."""

from __future__ import annotations

import pytest
from learning import PathsAlike

pytest.importorskip("tensorflow", reason="TensorFlow is not installed here")

from mbench_tensorflow.runtime import Runtime


class TestLearning(PathsAlike):
    compilers = (
        "graph",
        "eager",
    )
    make_runtime = Runtime
    threads = 2  # as in the other tests of this process

    def normalize_by_batch(self, benchmark):
        forward = benchmark.family.forward
        benchmark.infer = lambda batch: forward(benchmark.model, batch, training=True)
        benchmark.call = benchmark.infer
