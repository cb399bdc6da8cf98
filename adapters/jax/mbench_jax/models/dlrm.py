"""Recommenders; names as in facebookresearch/dlrm, the cross network's as in torchrec.

Shapes: B batch, C continuous features, N category numbers, F interacting features, D width, S input
width of the cross network.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from mbench_jax.images import build

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench_jax.layers import Array, Net, Tensors

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

DIFFERENCES = ("rows of tables are gathered and summed; each step updates all rows",)


def forward(net: Net, batch: Tensors) -> Tensors:
    """continuous (B, C), categories (B, N) -> logits (B)."""
    config = net.config
    x = jax.nn.relu(mlp(net, "bot_l", batch["continuous"], config.bottom))
    bags = jnp.split(batch["categories"], np.cumsum(config.bags)[:-1].tolist(), axis=1)
    rows = [
        net.embedding(f"emb_l.{at}", count, config.width)[bag].sum(1)
        for at, (count, bag) in enumerate(zip(config.table_rows, bags, strict=True))
    ]
    features = jnp.stack((x, *rows), axis=1)  # (B, F, D)
    if config.cross_layers:
        mixed = crossed(net, features.reshape(len(x), -1))
    else:
        products = jnp.einsum("bfd,bgd->bfg", features, features)
        one, other = np.array(config.pairs).T
        mixed = jnp.concatenate((x, products[:, one, other]), axis=1)
    return {"logits": mlp(net, "top_l", mixed, config.top)[:, 0]}


def mlp(net: Net, name: str, x: Array, outputs: Sequence[int]) -> Array:
    """Linear layers with a ReLU between each two."""
    for at, size in enumerate(outputs):
        x = net.linear(f"{name}.{2 * at}", jax.nn.relu(x) if at else x, size)
    return x


def crossed(net: Net, start: Array) -> Array:
    """(B, S) -> (B, S)."""
    config, x = net.config, start
    size, rank, turned = config.interactions, config.rank, (1, 0)
    for layer in range(config.cross_layers):
        narrow, wide, bias = net.cast(
            net.tensor(f"crossnet.V_kernels.{layer}", (size, rank), turned),
            net.tensor(f"crossnet.W_kernels.{layer}", (rank, size), turned),
            net.tensor(f"crossnet.bias.{layer}", (size,)),
        )
        x = start * (x @ narrow @ wide + bias) + x
    return x


def loss(outputs: Tensors, batch: Tensors) -> Array:
    """The mean binary cross entropy."""
    logits = outputs["logits"]
    return (jax.nn.softplus(logits) - logits * batch["labels"].astype(logits.dtype)).mean()
