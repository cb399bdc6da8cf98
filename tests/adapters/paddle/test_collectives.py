"""Collectives of two processes in PaddlePaddle."""

from __future__ import annotations

import pytest

pytest.importorskip("paddle", reason="PaddlePaddle is not installed here")

from collectives import CollectivesAlike


class TestCollectives(CollectivesAlike):
    runtime_name = "mbench_paddle.runtime:Runtime"
    compiler = "eager"
    title = "PaddlePaddle"
    has = (
        "all_reduce", "all_gather", "broadcast", "reduce", "send_receive", "matmul_all_reduce",
        "matmul_all_gather",
    )  # fmt: skip
