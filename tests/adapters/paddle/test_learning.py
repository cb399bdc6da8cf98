"""PaddlePaddle trains tasks."""

from __future__ import annotations

import pytest
from learning import LearningAlike
from learning_faults import OF_RECIPES

pytest.importorskip("paddle", reason="PaddlePaddle is not installed here")

from mbench_paddle.runtime import Runtime

pytestmark = pytest.mark.filterwarnings("ignore:Tensor do not have 'place' interface")


class TestLearning(LearningAlike):
    compilers = ("eager", "static")
    make_runtime = Runtime
    small_faults = OF_RECIPES
    threads = 2  # see conftest.py
    faults = ()
    tasks = ("glyphs", "chars")

    def normalize_by_batch(self, benchmark):
        benchmark.model.train()
