"""Diffusion transformers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import jax.numpy as jnp
from jax import lax

from mbench.sdk.networks import dit
from mbench.sdk.networks.dit import forward
from mbench_jax.images import DIFFERENCES as CHANNELS_LAST
from mbench_jax.layers import UNFUSED_ATTENTION, Array, Net
from mbench_jax.precision import wide

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench_jax.layers import Tensors

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

DIFFERENCES = (
    *CHANNELS_LAST,
    UNFUSED_ATTENTION,
    "waves of timesteps come from a table in place of sines in each step",
)


@dataclass(frozen=True)
class DiffusionNet(Net, dit.DiffusionNet[Array]):
    def patches(self, x: Array) -> Array:
        return x.reshape(len(x), -1, x.shape[-1])

    def image(self, x: Array, side: int, patch: int) -> Array:
        x = x.reshape(len(x), side, side, patch, patch, -1).swapaxes(2, 3)
        return x.reshape(len(x), side * patch, side * patch, -1)

    def plain_norm(self, x: Array) -> Array:
        """In float32 at least."""
        own = wide(x)
        scale = lax.rsqrt(own.var(-1, keepdims=True) + self.config.epsilon)
        return ((own - own.mean(-1, keepdims=True)) * scale).astype(x.dtype)

    def modulated(self, x: Array, shift: Array, scale: Array) -> Array:
        return x * (1 + scale[:, None]) + shift[:, None]

    def gated(self, x: Array, gate: Array) -> Array:
        return x * gate[:, None]

    def parts(self, x: Array, count: int) -> Sequence[Array]:
        return jnp.split(x, count, axis=-1)

    def tanh_gelu(self, x: Array) -> Array:
        """Left out when FLOPs are counted: XLA counts tens of FLOPs per element."""
        return x if self.counted else super().tanh_gelu(x)


build = DiffusionNet


def loss(outputs: Tensors, batch: Tensors) -> Array:
    """See mbench.workloads.dit."""
    noise, variance = jnp.split(outputs["denoised"], 2, axis=-1)
    gaps, weights = (batch[name][:, None, None, None] for name in ("gaps", "weights"))
    error = jnp.square(noise - batch["noise"])
    shares = gaps * (variance + 1) / 2
    bound = shares + jnp.exp(-shares) * (1 + weights * lax.stop_gradient(error)) - 1
    return (error + bound / math.log(4)).mean()
