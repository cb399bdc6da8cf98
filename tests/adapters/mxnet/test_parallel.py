"""Two processes that train one model together, by MXNet's distributed KVStore."""

from __future__ import annotations

import pytest

pytest.importorskip("mxnet", reason="MXNet is not installed here")

from ranks import RanksAlike

pytestmark = pytest.mark.filterwarnings("ignore:Please import .csr_matrix.:DeprecationWarning")


class TestRanks(RanksAlike):
    runtime_name = "mbench_mxnet.runtime:Runtime"
    compilers = ("hybrid", "eager")
