"""A deep LSTM that classifies sequences; names as in PyTorch's.

Shapes: B batch, L sequence, F features, H hidden, K classes.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax
from jax.nn import sigmoid

from mbench_jax.images import loss
from mbench_jax.layers import Array, Net, Tensors

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

build = Net


DIFFERENCES = ("each layer is a lax.scan over its steps; the inputs' products come before it",)


def forward(net: Net, batch: Tensors) -> Tensors:
    """features (B, L, F) -> logits (B, K)."""
    x = batch["features"].swapaxes(0, 1)  # (L, B, F)
    for number in range(net.config.layers):
        x = layer(net, "lstm", x, number)
    return {"logits": net.linear("linear", x[-1], net.config.classes)}


def layer(net: Net, name: str, x: Array, number: int) -> Array:
    """(L, B, in) -> (L, B, H)."""
    hidden, turned = net.config.hidden, (1, 0)
    (x, weight, recurrent, bias, other) = net.cast(
        x,
        net.tensor(f"{name}.weight_ih_l{number}", (x.shape[-1], 4 * hidden), turned),
        net.tensor(f"{name}.weight_hh_l{number}", (hidden, 4 * hidden), turned),
        net.tensor(f"{name}.bias_ih_l{number}", (4 * hidden,)),
        net.tensor(f"{name}.bias_hh_l{number}", (4 * hidden,)),
    )

    def cell(state: tuple[Array, Array], gates: Array) -> tuple[tuple[Array, Array], Array]:
        h, c = state
        i, f, g, o = jnp.split(gates + h @ recurrent, 4, axis=-1)
        c = sigmoid(f) * c + sigmoid(i) * jnp.tanh(g)
        h = sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    start = jnp.zeros((x.shape[1], hidden), x.dtype)
    return lax.scan(cell, (start, start), x @ weight + bias + other)[1]
