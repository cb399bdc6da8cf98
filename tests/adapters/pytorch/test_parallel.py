"""Two processes that train one model together, by DistributedDataParallel."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed here")

from ranks import RanksAlike


class TestRanks(RanksAlike):
    runtime_name = "mbench_pytorch.runtime:Runtime"
    compilers = ("eager",)
    models = ("resnet", "bert")
