"""JAX trains tasks."""

from __future__ import annotations

import pytest
from learning import LearningAlike

pytest.importorskip("jax", reason="JAX is not installed here")

from mbench_jax.runtime import Runtime


class TestLearning(LearningAlike):
    compilers = ("jit", "eager")
    make_runtime = Runtime
