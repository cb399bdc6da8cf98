"""Diffusion transformers; names as in facebookresearch/DiT.

Shapes: B batch, C channels, H W latent pixels, L patches, D hidden.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mbench.sdk.networks.net import Array, Net

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["DiffusionNet", "forward"]


class DiffusionNet(Net[Array]):
    """A network that denoises images, each conditioned on a vector."""

    def patches(self, x: Array) -> Array:
        """An image of H x W pixels with D channels -> (B, H * W, D), row by row."""
        raise NotImplementedError

    def image(self, x: Array, side: int, patch: int) -> Array:
        """(B, L, P * P * C) -> an image of C channels: `side` patches of P x P pixels in a row."""
        raise NotImplementedError

    def plain_norm(self, x: Array) -> Array:
        """Layer norm over the last axis without weights."""
        raise NotImplementedError

    def modulated(self, x: Array, shift: Array, scale: Array) -> Array:
        """x (1 + scale) + shift, of (B, L, D) by (B, D)."""
        raise NotImplementedError

    def gated(self, x: Array, gate: Array) -> Array:
        """(B, L, D) times (B, D)."""
        raise NotImplementedError

    def parts(self, x: Array, count: int) -> Sequence[Array]:
        """The last axis split into `count` equal parts."""
        raise NotImplementedError


def forward(net: DiffusionNet[Array], batch: Mapping[str, Array]) -> dict[str, Array]:
    """latents, timesteps (B,), classes (B,) -> denoised, an image of 2 C channels: the noise, and
    the variance, as a position between its bounds, from -1 to 1.
    """
    config = net.config
    hidden, patch = config.hidden, config.patch_size
    x = net.conv("x_embedder.proj", batch["latents"], hidden, patch, stride=patch, padding=0,
                 bias=True)  # fmt: skip
    x = net.sum(net.patches(x), net.constant(config.positions()))
    time = net.rows(net.constant(config.timestep_waves()), batch["timesteps"])
    time = net.silu(net.linear("t_embedder.mlp.0", time, hidden))
    time = net.linear("t_embedder.mlp.2", time, hidden)
    table = net.embedding("y_embedder.embedding_table", config.classes + 1, hidden)
    known = net.silu(net.sum(time, net.rows(table, batch["classes"])))
    for layer in range(config.layers):
        x = net.layer(partial(block, known=known), f"blocks.{layer}", x)
    shift, scale = modulation(net, "final_layer", known, 2)
    x = net.modulated(net.plain_norm(x), shift, scale)
    x = net.linear("final_layer.linear", x, config.patch_outputs)
    return {"denoised": net.image(x, config.side, patch)}


def block(net: DiffusionNet[Array], at: str, x: Array, *, known: Array) -> Array:
    """Attention and an MLP, each with a modulated norm before it and a gate after it."""
    config = net.config
    size, length, hidden = x.shape
    shift, scale, gate, *others = modulation(net, at, known, 6)
    y = net.modulated(net.plain_norm(x), shift, scale)
    query, key, value = (
        net.reshaped(part, size, length, config.heads, hidden // config.heads)
        for part in net.parts(net.linear(f"{at}.attn.qkv", y, 3 * hidden), 3)
    )
    y = net.reshaped(net.attention(query, key, value, 0.0), size, length, hidden)
    x = net.sum(x, net.gated(net.linear(f"{at}.attn.proj", y, hidden), gate))
    shift, scale, gate = others
    y = net.modulated(net.plain_norm(x), shift, scale)
    y = net.tanh_gelu(net.linear(f"{at}.mlp.fc1", y, 4 * hidden))
    return net.sum(x, net.gated(net.linear(f"{at}.mlp.fc2", y, hidden), gate))


def modulation(net: DiffusionNet[Array], at: str, known: Array, count: int) -> Sequence[Array]:
    """`count` vectors (B, D), one row for each image."""
    width = count * net.config.hidden
    return net.parts(net.linear(f"{at}.adaLN_modulation.1", known, width), count)
