"""MXNet trains tasks."""

from __future__ import annotations

import pytest
from learning import LearningAlike

pytest.importorskip("mxnet", reason="MXNet is not installed here")

from mxnet import autograd

from mbench_mxnet.runtime import Runtime

pytestmark = pytest.mark.filterwarnings("ignore:Please import .csr_matrix.:DeprecationWarning")


class TestLearning(LearningAlike):
    compilers = ("hybrid", "eager")
    make_runtime = Runtime
    threads = 2  # see conftest.py
    faults = ()
    tasks = ("glyphs", "chars")

    def normalize_by_batch(self, benchmark):
        def infer(batch):
            with autograd.train_mode():
                return benchmark.family.forward(benchmark.model, batch)

        benchmark.call = infer
