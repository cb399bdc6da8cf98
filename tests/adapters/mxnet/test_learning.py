"""MXNet trains tasks."""

from __future__ import annotations

import pytest
from learning import LearningAlike

pytest.importorskip("mxnet", reason="MXNet is not installed here")

from mbench_mxnet.runtime import Runtime

pytestmark = pytest.mark.filterwarnings("ignore:Please import .csr_matrix.:DeprecationWarning")


class TestLearning(LearningAlike):
    compilers = ("hybrid", "eager")
    make_runtime = Runtime
