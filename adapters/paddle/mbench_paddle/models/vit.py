"""Vision transformers, with paddle.nn's scaled_dot_product_attention; names as in torchvision's.

Shapes: B batch, C channels, H W pixels, L positions, D hidden, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import paddle
from paddle import nn
from paddle.nn import functional as F

from mbench_paddle.images import forward, loss
from mbench_paddle.layers import layer_norm
from mbench_paddle.tiers import ATTENTION

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mbench.workloads.vit import ViTConfig

__all__ = ["DIFFERENCES", "build", "forward", "layers", "loss"]

DIFFERENCES = (ATTENTION,)


class VisionTransformer(nn.Layer):
    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        size = config.patch_size
        self.class_token = self.create_parameter([1, 1, config.hidden])
        self.conv_proj = nn.Conv2D(3, config.hidden, size, stride=size)
        self.encoder = Encoder(config)
        self.heads = Heads(config)

    def forward(self, images: paddle.Tensor) -> paddle.Tensor:
        """(B, C, H, W) -> (B, K)."""
        x = self.conv_proj(images).flatten(2).transpose([0, 2, 1])  # (B, L - 1, D)
        token = self.class_token.expand([x.shape[0], 1, x.shape[2]]).astype(x.dtype)
        x = self.encoder(paddle.concat([token, x], axis=1))
        return self.heads.head(x[:, 0])


class Encoder(nn.Layer):
    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        self.pos_embedding = self.create_parameter([1, config.length, config.hidden])
        blocks = {f"encoder_layer_{layer}": Block(config) for layer in range(config.layers)}
        self.layers = nn.Sequential(*blocks.items())
        self.ln = layer_norm(config.hidden, epsilon=config.epsilon)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        """(B, L, D) -> (B, L, D)."""
        return self.ln(self.layers(x + self.pos_embedding))


class Heads(nn.Layer):
    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        self.head = nn.Linear(config.hidden, config.classes)


class Block(nn.Layer):
    """Attention and an MLP, each with a layer norm before it and a sum after."""

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        self.ln_1 = layer_norm(config.hidden, epsilon=config.epsilon)
        self.self_attention = SelfAttention(config)
        self.ln_2 = layer_norm(config.hidden, epsilon=config.epsilon)
        self.mlp = nn.Sequential(
            ("0", nn.Linear(config.hidden, config.intermediate)),
            ("1", nn.GELU()),  # the exact one
            ("3", nn.Linear(config.intermediate, config.hidden)),
        )

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        x = x + self.self_attention(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class SelfAttention(nn.Layer):
    """Every position attends to all positions."""

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        hidden, self.head_count = config.hidden, config.heads
        self.in_proj = nn.Linear(hidden, 3 * hidden)
        self.out_proj = nn.Linear(hidden, hidden)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        batch, length, hidden = x.shape
        mixed = self.in_proj(x)
        mixed = mixed.reshape([batch, length, 3, self.head_count, hidden // self.head_count])
        query, key, value = mixed.unbind(axis=2)  # each (B, L, heads, W)
        x = F.scaled_dot_product_attention(query, key, value, training=self.training)
        return self.out_proj(x.reshape([batch, length, hidden]))


def build(config: ViTConfig) -> nn.Layer:
    return VisionTransformer(config)


def layers(model: VisionTransformer) -> Iterable[nn.Layer]:
    return model.encoder.layers
