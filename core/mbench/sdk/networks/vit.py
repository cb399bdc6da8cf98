"""Vision transformers; names as in torchvision's.

Shapes: B batch, H W patches, L = H W + 1 positions, D hidden, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.sdk.networks.net import Array, Net

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PatchNet", "forward"]


class PatchNet(Net[Array]):
    """A network that treats an image as a sequence of patches."""

    def patches(self, x: Array) -> Array:
        """An image of H x W pixels with D channels -> (B, H * W, D), row by row."""
        raise NotImplementedError

    def led(self, x: Array, name: str) -> Array:
        """(B, L, D) -> (B, L + 1, D): the vector (1, 1, D) of that name comes first."""
        raise NotImplementedError

    def placed(self, x: Array, name: str) -> Array:
        """(B, L, D) with the table (1, L, D) of that name added."""
        raise NotImplementedError

    def mixed(self, name: str, x: Array) -> Array:
        """(B, L, D) -> (B, L, 3 D): linear, by `in_proj_weight` (3 D, D) and `in_proj_bias`."""
        raise NotImplementedError


def forward(net: PatchNet[Array], batch: Mapping[str, Array]) -> dict[str, Array]:
    """images -> logits (B, K)."""
    config = net.config
    size = config.patch_size
    x = net.conv("conv_proj", batch["images"], config.hidden, size, stride=size, padding=0,
                 bias=True)  # fmt: skip
    x = net.placed(net.led(net.patches(x), "class_token"), "encoder.pos_embedding")
    for layer in range(config.layers):
        x = net.layer(encoded, f"encoder.layers.encoder_layer_{layer}", x)
    x = net.first_position(net.layer_norm("encoder.ln", x))
    return {"logits": net.linear("heads.head", x, config.classes)}


def encoded(net: PatchNet[Array], at: str, x: Array) -> Array:
    """Attention and an MLP, each with a layer norm before it and a sum after."""
    config, attention = net.config, f"{at}.self_attention"
    size, length, hidden = x.shape
    y = net.mixed(attention, net.layer_norm(f"{at}.ln_1", x))
    query, key, value = (
        net.reshaped(part, size, length, config.heads, hidden // config.heads)
        for part in net.thirds(y)
    )
    y = net.reshaped(net.attention(query, key, value, 0.0), size, length, hidden)
    x = net.sum(x, net.linear(f"{attention}.out_proj", y, hidden))
    y = net.gelu(net.linear(f"{at}.mlp.0", net.layer_norm(f"{at}.ln_2", x), config.intermediate))
    return net.sum(x, net.linear(f"{at}.mlp.3", y, hidden))
