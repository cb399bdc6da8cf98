"""Several processes that train one model together: jax.distributed, a mesh of all their devices,
and `shard_map` with `pmean` over gloo or NCCL.

See JAX's documentation: "Introduction to multi-controller JAX", and "Manual parallelism with
shard_map".
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax import lax
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from mbench.sdk.network import interface_of, split

if TYPE_CHECKING:
    from collections.abc import Callable

    from mbench.contract.rank import RankInfo

__all__ = ["WorkerGroup", "join"]

AXIS = "ranks"
LONG_SECONDS = 24 * 60 * 60
"""Workers are stopped while others have their turn, so a silent one need not be dead. The process
that started them watches them."""
LAYOUT = P(), P(AXIS), P(), P()
"""Sharding of what a step continues from: parameters, running statistics, the optimizer's state and
a key. `P(AXIS)` marks what each rank has of its own, side by side along the first axis."""


def join(place: RankInfo, device: str) -> None:
    """Connect to the other processes; JAX must not have looked for devices yet."""
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    if interface := interface_of(split(place.own)[0]):
        listen_at(interface)
    jax.distributed.initialize(
        place.meet,
        num_processes=place.ranks,
        process_id=place.rank,
        local_device_ids=[0],
        coordinator_bind_address=place.meet,
        heartbeat_timeout_seconds=LONG_SECONDS,
    )
    # gloo connects at the first exchange and waits only 30 s for the others: too short to compile.
    multihost_utils.sync_global_devices("joined")


def listen_at(interface: str) -> None:
    """Make gloo use this interface. JAX 0.10 has no setting for it, and lets gloo look up the
    machine's name; but JAX's function that creates collectives takes an interface.
    """
    from jax._src import distributed, xla_bridge
    from jaxlib import _jax

    def client() -> Any:
        known = distributed.global_state.client
        made = _jax.make_gloo_tcp_collectives(distributed_client=known, interface=interface)
        return xla_bridge.make_cpu_client(collectives=made)

    xla_bridge.register_backend_factory("cpu", client, priority=0, fail_quietly=False)


class WorkerGroup:
    """The processes that train together, each with one device of a mesh."""

    differences = (
        "gradients are averaged by pmean within shard_map, over gloo on the CPU and NCCL on CUDA; "
        "XLA chooses what it sends together and when",
    )

    def __init__(self, place: RankInfo) -> None:
        firsts: dict[int, Any] = {}
        for device in jax.devices():
            firsts.setdefault(device.process_index, device)
        self.mesh = Mesh([firsts[rank] for rank in range(place.ranks)], (AXIS,))

    def shared(self, tree: Any) -> Any:
        """Arrays that are the same on all ranks."""
        return jax.tree.map(partial(self.made, P()), tree)

    def own(self, tree: Any) -> Any:
        """Arrays of which each rank has its own."""
        return jax.tree.map(partial(self.made, P(AXIS)), tree)

    def made(self, spec: P, array: Any) -> jax.Array:
        if spec == P() and jax.dtypes.issubdtype(array.dtype, jax.dtypes.prng_key):
            data = self.made(spec, jax.random.key_data(array))
            return jax.jit(jax.random.wrap_key_data)(data)
        return jax.make_array_from_process_local_data(
            NamedSharding(self.mesh, spec), np.asarray(array)
        )

    def mean(self, gradients: Any) -> Any:
        """Mean over all ranks, within a step."""
        return lax.pmean(gradients, AXIS)

    def differing(self, key: jax.Array) -> jax.Array:
        """A different key on each rank, within a step, so that each has its own masks."""
        return jax.random.fold_in(key, lax.axis_index(AXIS))

    def step(self, compute: Callable[..., Any]) -> Callable[..., Any]:
        """`compute`, run with a state and a batch on each rank."""

        def each(state: tuple[Any, ...], batch: Any) -> tuple[Any, ...]:
            state, loss = compute(state, batch)
            return state, loss[None]

        # Models' loops begin with constants, which the check assumes to be the same on all ranks.
        return jax.shard_map(
            each, mesh=self.mesh, in_specs=(LAYOUT, P(AXIS)), out_specs=(LAYOUT, P(AXIS)),
            check_vma=False,
        )  # fmt: skip
