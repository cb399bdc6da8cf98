"""Collectives of jax.lax, by `shard_map` over a mesh with one device of each process.

See JAX's documentation: "Manual parallelism with shard_map", "Collectives tutorial".

Shapes: E elements of a rank, R ranks.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import jax
from jax import lax
from jax.sharding import PartitionSpec as P

from mbench.contract.rank import RankInfo
from mbench.sdk.checks import require
from mbench_jax.layers import Net
from mbench_jax.parallel import AXIS, WorkerGroup

if TYPE_CHECKING:
    from collections.abc import Callable

    from mbench.workloads.operators.collectives import Collective
    from mbench_jax.layers import Array, Tensors

__all__ = ["DIFFERENCES", "build", "forward"]

DIFFERENCES = (
    "the calls of a step are one program: XLA chooses what it sends together, and in which order",
)


def around(x: Array) -> Array:
    """Send to the next rank, and receive from the previous one."""
    ranks = lax.axis_size(AXIS)
    return lax.ppermute(x, AXIS, [(rank, (rank + 1) % ranks) for rank in range(ranks)])


FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "all_reduce": partial(lax.psum, axis_name=AXIS),
    "all_gather": partial(lax.all_gather, axis_name=AXIS, tiled=True),
    "reduce_scatter": partial(lax.psum_scatter, axis_name=AXIS, tiled=True),
    "send_receive": around,
    "matmul_all_reduce": partial(lax.psum, axis_name=AXIS),
    "matmul_all_gather": partial(lax.all_gather, axis_name=AXIS, tiled=True),
}
SHARDED = ("matmul_all_reduce", "matmul_all_gather")
LACKING = {
    "broadcast": "JAX's pbroadcast has no code for the CPU, and its adapter does not use it",
    "reduce": "JAX has no reduce to one device: psum is for all",
    "overlap_mul": "JAX starts no exchange by itself: XLA decides what runs meanwhile",
    "overlap_matmul": "JAX starts no exchange by itself: XLA decides what runs meanwhile",
}


def build(kind: Collective) -> Net:
    """Raises Unsupported for what JAX does not have."""
    require(kind.kind in FUNCTIONS, LACKING.get(kind.kind, f"JAX has no {kind.kind}"))
    return Net(kind)


def forward(net: Net, batch: Tensors) -> Tensors:
    """What each rank receives in each call, side by side: "output.0"."""
    function, sharded = FUNCTIONS[net.config.kind], net.config.kind in SHARDED

    def each(own: Tensors) -> Tensors:
        return {
            f"output.{at}": function(own[f"a.{at}"] @ own[f"b.{at}"] if sharded else own[f"x.{at}"])
            for at in range(net.config.calls)
        }

    mesh = WorkerGroup(RankInfo(ranks=net.config.ranks)).mesh
    return jax.shard_map(
        each, mesh=mesh, in_specs=P(AXIS), out_specs=P(AXIS), check_vma=False,
    )(batch)  # fmt: skip
