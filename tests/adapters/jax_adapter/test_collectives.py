"""Collectives of two processes in JAX."""

from __future__ import annotations

import pytest

pytest.importorskip("jaxlib", reason="JAX is not installed here")

from collectives import CollectivesAlike


class TestCollectives(CollectivesAlike):
    runtime_name = "mbench_jax.runtime:Runtime"
    compiler = "jit"
    title = "JAX"
    has = (
        "all_reduce", "all_gather", "reduce_scatter", "send_receive", "matmul_all_reduce",
        "matmul_all_gather",
    )  # fmt: skip
