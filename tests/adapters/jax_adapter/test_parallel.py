"""Two processes that train one model together, by jax.distributed and shard_map."""

from __future__ import annotations

import pytest

pytest.importorskip("jaxlib", reason="JAX is not installed here")

from ranks import RanksAlike


@pytest.mark.usefixtures("quickly_compiled")
class TestRanks(RanksAlike):
    runtime_name = "mbench_jax.runtime:Runtime"
    compilers = ("jit",)
