"""Collectives of two processes in MXNet."""

from __future__ import annotations

import pytest

pytest.importorskip("mxnet", reason="MXNet is not installed here")

from collectives import CollectivesAlike


class TestCollectives(CollectivesAlike):
    runtime_name = "mbench_mxnet.runtime:Runtime"
    compiler = "eager"
    title = "MXNet"
    has = ("all_reduce", "matmul_all_reduce")
