"""Two processes that train one model together, by jax.distributed and shard_map."""

from __future__ import annotations

import pytest

pytest.importorskip("jaxlib", reason="JAX is not installed here")

from ranks import RanksAlike


@pytest.fixture(autouse=True)
def quickly_compiled(monkeypatch):
    """Ranks do, without XLA's optimizations, which take most of the time."""
    monkeypatch.setenv("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")


class TestRanks(RanksAlike):
    runtime_name = "mbench_jax.runtime:Runtime"
    compilers = ("jit",)
