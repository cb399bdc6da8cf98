"""ResNet-50 v1.5 training in JAX on several devices, by hand: `jax.distributed` and `shard_map`."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import multihost_utils
from jax.sharding import PartitionSpec as P

from mbench.workloads.resnet import RESNET50
from mbench_jax.models import resnet
from mbench_jax.runtime import outlines

AXIS = "ranks"
LONG_SECONDS = 24 * 60 * 60
"""Heartbeat timeout: a rank is stopped while the other job has its turn."""


def build(*, batch_size: int, image_size: int, threads: int):
    """A function that trains n steps and returns when they are done."""
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(
        f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}",
        num_processes=int(os.environ["WORLD_SIZE"]),
        process_id=int(os.environ["RANK"]),
        heartbeat_timeout_seconds=LONG_SECONDS,
    )
    mesh = jax.make_mesh((jax.device_count(),), (AXIS,))
    random = np.random.default_rng(0)
    outlined = outlines(resnet, RESNET50)
    drawn = {
        name: np.float32(0.05) * random.standard_normal(native.tensor.shape, np.float32)
        for name, native in outlined.items() if native.trainable
    }  # fmt: skip
    kept = {
        name: np.ones(native.tensor.shape, np.float32)
        for name, native in outlined.items() if not native.trainable
    }  # fmt: skip
    images = random.standard_normal((batch_size, image_size, image_size, 3), np.float32)
    labels = random.integers(0, 1000, batch_size)
    spread = partial(multihost_utils.host_local_array_to_global_array, global_mesh=mesh)
    shared, own = partial(spread, pspecs=P()), partial(spread, pspecs=P(AXIS))
    model = resnet.build(RESNET50.config)

    def each(state, images, labels):
        params, stats, momenta = state

        def objective(params):
            net = replace(model, params=params, stats=dict(stats), training=True,
                          products=jnp.float32)  # fmt: skip
            logits = resnet.forward(net, {"images": images})["logits"]
            chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1)
            return -chosen.mean(), net.stats

        (loss, stats), gradients = jax.value_and_grad(objective, has_aux=True)(params)
        gradients = lax.pmean(gradients, AXIS)
        momenta = jax.tree.map(lambda m, g, w: 0.9 * m + g + 1e-4 * w, momenta, gradients, params)
        params = jax.tree.map(lambda w, m: w - 1e-8 * m, params, momenta)
        return (params, stats, momenta), loss[None]

    layout = P(), P(AXIS), P()
    step = jax.jit(
        jax.shard_map(each, mesh=mesh, in_specs=(layout, P(AXIS), P(AXIS)),
                      out_specs=(layout, P(AXIS)), check_vma=False),
        donate_argnums=0,
    )  # fmt: skip
    state = shared(drawn), own(kept), shared(jax.tree.map(np.zeros_like, drawn))
    images, labels = own(images), own(labels)

    def train(steps: int) -> None:
        nonlocal state
        for _ in range(steps):
            state, loss = step(state, images, labels)
        jax.block_until_ready(loss)

    return train
