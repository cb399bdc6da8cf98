"""Collectives of two processes in TensorFlow."""

from __future__ import annotations

import pytest

pytest.importorskip("tensorflow", reason="TensorFlow is not installed here")

from collectives import CollectivesAlike


class TestCollectives(CollectivesAlike):
    runtime_name = "mbench_tensorflow.runtime:Runtime"
    compiler = "graph"
    title = "TensorFlow"
    has = ("all_reduce", "all_gather", "broadcast", "matmul_all_reduce", "matmul_all_gather")
