"""PyTorch trains tasks."""

from __future__ import annotations

import pytest
from learning import PathsAlike
from learning_faults import OF_RECIPES

pytest.importorskip("torch", reason="PyTorch is not installed here")

from mbench_pytorch.runtime import Runtime


class TestLearning(PathsAlike):
    compilers = ("eager",)
    make_runtime = Runtime
    small_faults = OF_RECIPES

    def normalize_by_batch(self, benchmark):
        benchmark.model.train()
