"""JAX, lying."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp

from liars.runtime import lying
from mbench_jax.runtime import Benchmark
from mbench_jax.runtime import Runtime as Honest

__all__ = ["Runtime"]


class Open(Benchmark):
    """What lies need from a framework."""

    def judge_only(self) -> None:
        """Normalize as in inference."""
        forward = self.family.forward
        self.family.forward = lambda net, batch: forward(replace(net, training=False), batch)

    def coarsen_state(self) -> None:
        """Round the optimizer's state to bfloat16."""
        self.update.state = jax.tree.map(coarse, self.update.state)


def coarse(array: jax.Array) -> jax.Array:
    floats = array.ndim and jnp.issubdtype(array.dtype, jnp.floating)
    return array.astype(jnp.bfloat16).astype(array.dtype) if floats else array


Honest.benchmark = Open
Runtime = lying(Honest)
