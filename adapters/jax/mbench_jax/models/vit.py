"""Vision transformers."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp

from mbench.sdk.networks import vit
from mbench.sdk.networks.vit import forward
from mbench_jax.images import DIFFERENCES as CHANNELS_LAST
from mbench_jax.images import loss
from mbench_jax.layers import UNFUSED_ATTENTION, Array, Net

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

DIFFERENCES = (*CHANNELS_LAST, UNFUSED_ATTENTION)


@dataclass(frozen=True)
class PatchNet(Net, vit.PatchNet[Array]):
    def patches(self, x: Array) -> Array:
        size, high, wide, hidden = x.shape
        return x.reshape(size, high * wide, hidden)

    def led(self, x: Array, name: str) -> Array:
        size, _, hidden = x.shape
        token = self.tensor(name, (1, 1, hidden)).astype(x.dtype)
        return jnp.concatenate((jnp.broadcast_to(token, (size, 1, hidden)), x), axis=1)

    def placed(self, x: Array, name: str) -> Array:
        return x + self.tensor(name, (1, *x.shape[1:])).astype(x.dtype)

    def mixed(self, name: str, x: Array) -> Array:
        """The weight is (in, out) here."""
        hidden = x.shape[-1]
        weight = self.tensor(f"{name}.in_proj_weight", (hidden, 3 * hidden), (1, 0))
        x, weight, bias = self.cast(x, weight, self.tensor(f"{name}.in_proj_bias", (3 * hidden,)))
        return x @ weight + bias

    def gelu(self, x: Array) -> Array:
        """XLA counts a hundred FLOPs per element, because it computes erf as a polynomial: 8 % of
        all FLOPs in a narrow model. They are left out when FLOPs are counted.
        """
        return x if self.counted else super().gelu(x)


build = PatchNet
