"""JAX trains tasks."""

from __future__ import annotations

from dataclasses import replace

import pytest
from learning import LearningAlike

pytest.importorskip("jax", reason="JAX is not installed here")

from mbench_jax.runtime import Runtime


class TestLearning(LearningAlike):
    compilers = ("eager", "jit")
    make_runtime = Runtime
    small_compiler = "jit"
    tasks = ("glyphs", "chars")

    def normalize_by_batch(self, benchmark):
        benchmark.model = replace(benchmark.model, training=True)
        benchmark.prepare_inference()
