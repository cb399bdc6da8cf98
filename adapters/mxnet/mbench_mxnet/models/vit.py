"""Vision transformers in Gluon; names as in torchvision's.

Shapes: B batch, C channels, H W pixels, L positions, D hidden, K classes.
"""

# ruff: noqa: N803 (Gluon hands its operators over as F)

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from mxnet import gluon
from mxnet.gluon import nn

from mbench_mxnet.images import forward, loss
from mbench_mxnet.layers import GELU, LayerNorm, convolution, sequence

if TYPE_CHECKING:
    from mbench.workloads.vit import ViTConfig

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

DIFFERENCES = ("attention is two matrix products around a softmax, not one fused kernel",)


class VisionTransformer(gluon.HybridBlock):
    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        size, hidden = config.patch_size, config.hidden
        self.class_token = self.params.get("class_token", shape=(1, 1, hidden))
        self.conv_proj = convolution(3, hidden, size, strides=size, padding=0, bias=True)
        self.encoder = Encoder(config)
        self.heads = sequence(head=dense(hidden, config.classes))

    def hybrid_forward(self, F: Any, images: Any, class_token: Any) -> Any:
        """(B, C, H, W) -> (B, K)."""
        x = self.conv_proj(images).reshape((0, 0, -1)).transpose((0, 2, 1))  # (B, L - 1, D)
        first = x.slice_axis(axis=1, begin=0, end=1)
        x = F.concat(F.broadcast_like(class_token, first), x, dim=1)
        x = self.encoder(x).slice_axis(axis=1, begin=0, end=1)
        return self.heads(x.reshape((0, -1)))


class Encoder(gluon.HybridBlock):
    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        self.pos_embedding = self.params.get(
            "pos_embedding", shape=(1, config.length, config.hidden)
        )
        blocks = {f"encoder_layer_{layer}": Block(config) for layer in range(config.layers)}
        self.layers = sequence(**blocks)
        self.ln = normalization(config)

    def hybrid_forward(self, F: Any, x: Any, pos_embedding: Any) -> Any:
        """(B, L, D) -> (B, L, D)."""
        return self.ln(self.layers(F.broadcast_add(x, pos_embedding)))


class Block(gluon.HybridBlock):
    """Attention and an MLP, each with a layer norm before it and a sum after."""

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        hidden, inner = config.hidden, config.intermediate
        self.ln_1 = normalization(config)
        self.self_attention = SelfAttention(config)
        self.ln_2 = normalization(config)
        self.mlp = sequence(**{"0": dense(hidden, inner), "1": GELU(), "3": dense(inner, hidden)})

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        x = x + self.self_attention(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class SelfAttention(gluon.HybridBlock):
    """Every position attends to all positions."""

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        hidden, self._heads = config.hidden, config.heads
        self._hidden, self._scale = hidden, 1 / math.sqrt(hidden // config.heads)
        self.in_proj_weight = self.params.get("in_proj_weight", shape=(3 * hidden, hidden))
        self.in_proj_bias = self.params.get("in_proj_bias", shape=(3 * hidden,))
        self.out_proj = dense(hidden, hidden)

    def hybrid_forward(self, F: Any, x: Any, in_proj_weight: Any, in_proj_bias: Any) -> Any:
        """(B, L, D) -> (B, L, D)."""
        parts = F.FullyConnected(
            x, in_proj_weight, in_proj_bias, num_hidden=3 * self._hidden, flatten=False
        )
        parts = parts.reshape((0, 0, 3, self._heads, -1)).transpose((2, 0, 3, 1, 4))
        parts = parts.reshape((0, -3, 0, 0))  # (3, B * heads, L, W)
        query, key, value = F.split(parts, num_outputs=3, axis=0, squeeze_axis=True)
        scores = F.batch_dot(query * self._scale, key, transpose_b=True)  # (B * heads, L, L)
        attended = F.batch_dot(F.softmax(scores), value)  # (B * heads, L, W)
        attended = attended.reshape((-4, -1, self._heads, -2))  # (B, heads, L, W)
        return self.out_proj(attended.transpose((0, 2, 1, 3)).reshape((0, 0, -3)))


def dense(inputs: int, outputs: int) -> nn.Dense:
    return nn.Dense(outputs, in_units=inputs, flatten=False)


def normalization(config: ViTConfig) -> LayerNorm:
    return LayerNorm(epsilon=config.epsilon, in_channels=config.hidden)


def build(config: ViTConfig) -> gluon.HybridBlock:
    return VisionTransformer(config)
