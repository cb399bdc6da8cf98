"""Diffusion transformers in paddle.nn; names as in facebookresearch/DiT.

Shapes: B batch, C channels, H W latent pixels, P side of a patch, L patches, D hidden.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import paddle
from paddle import nn
from paddle.nn import functional as F

from mbench_paddle.layers import exact, exactly, layer_norm
from mbench_paddle.tiers import ATTENTION

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mbench.workloads.dit import DiTConfig

__all__ = ["DIFFERENCES", "build", "forward", "layers", "loss"]

DIFFERENCES = (
    "waves of timesteps come from a table in place of sines in each step",
    ATTENTION,
)


class DiT(nn.Layer):
    def __init__(self, config: DiTConfig) -> None:
        super().__init__()
        size = config.patch_size
        self.side, self.patch = config.side, size
        self.x_embedder = nn.Sequential(("proj", nn.Conv2D(4, config.hidden, size, stride=size)))
        self.t_embedder = TimestepEmbedder(config)
        self.y_embedder = nn.Sequential(
            ("embedding_table", nn.Embedding(config.classes + 1, config.hidden))
        )
        self.blocks = nn.LayerList([Block(config) for _ in range(config.layers)])
        self.final_layer = FinalLayer(config)
        kind = paddle.get_default_dtype()
        table = paddle.to_tensor(config.positions().astype(kind))
        self.register_buffer("positions", table, persistable=False)

    def forward(
        self, latents: paddle.Tensor, timesteps: paddle.Tensor, classes: paddle.Tensor
    ) -> paddle.Tensor:
        """(B, C, H, W), (B), (B) -> (B, 2 C, H, W)."""
        x = self.x_embedder(latents).flatten(2).transpose([0, 2, 1])  # (B, L, D)
        x = x + self.positions.astype(x.dtype)
        known = self.t_embedder(timesteps) + self.y_embedder(classes)
        for block in self.blocks:
            x = block(x, known)
        x = self.final_layer(x, known)
        side, patch = self.side, self.patch
        x = x.reshape([x.shape[0], side, side, patch, patch, -1]).transpose([0, 5, 1, 3, 2, 4])
        return x.reshape([x.shape[0], -1, side * patch, side * patch])


class TimestepEmbedder(nn.Layer):
    def __init__(self, config: DiTConfig) -> None:
        super().__init__()
        waves = config.timestep_waves().astype(paddle.get_default_dtype())
        self.register_buffer("waves", paddle.to_tensor(waves), persistable=False)
        self.mlp = nn.Sequential(
            nn.Linear(waves.shape[1], config.hidden),
            nn.Silu(),
            nn.Linear(config.hidden, config.hidden),
        )

    def forward(self, timesteps: paddle.Tensor) -> paddle.Tensor:
        """(B) -> (B, D)."""
        return self.mlp(paddle.gather(self.waves, timesteps))


class Block(nn.Layer):
    """Attention and an MLP, each with a modulated norm before it and a gate after."""

    def __init__(self, config: DiTConfig) -> None:
        super().__init__()
        self.norm1 = plain_norm(config)
        self.attn = Attention(config)
        self.norm2 = plain_norm(config)
        self.mlp = MLP(config)
        self.adaLN_modulation = modulation(config, 6)

    def forward(self, x: paddle.Tensor, known: paddle.Tensor) -> paddle.Tensor:
        """(B, L, D), (B, D) -> (B, L, D)."""
        parts = self.adaLN_modulation(known).unsqueeze(1).chunk(6, axis=-1)
        x = x + parts[2] * self.attn(modulated(self.norm1(x), parts[0], parts[1]))
        return x + parts[5] * self.mlp(modulated(self.norm2(x), parts[3], parts[4]))


class Attention(nn.Layer):
    """Every patch attends to all patches."""

    def __init__(self, config: DiTConfig) -> None:
        super().__init__()
        self.exact = exact()
        self.shape = [3, config.heads, config.hidden // config.heads]
        self.qkv = nn.Linear(config.hidden, 3 * config.hidden)
        self.proj = nn.Linear(config.hidden, config.hidden)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        """(B, L, D) -> (B, L, D)."""
        mixed = self.qkv(x).reshape([x.shape[0], x.shape[1], *self.shape])
        query, key, value = mixed.unbind(axis=2)  # each (B, L, heads, W)
        scale = None
        if self.exact:  # in a static graph, PaddlePaddle's own scale is float32
            query, scale = query * exactly(1 / math.sqrt(self.shape[-1]), like=query), 1.0
        attended = F.scaled_dot_product_attention(
            query, key, value, training=self.training, scale=scale
        )
        return self.proj(attended.flatten(2))


class MLP(nn.Layer):
    def __init__(self, config: DiTConfig) -> None:
        super().__init__()
        self.fc1 = nn.Linear(config.hidden, 4 * config.hidden)
        self.fc2 = nn.Linear(4 * config.hidden, config.hidden)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        return self.fc2(F.gelu(self.fc1(x), approximate=True))


class FinalLayer(nn.Layer):
    def __init__(self, config: DiTConfig) -> None:
        super().__init__()
        self.norm_final = plain_norm(config)
        self.linear = nn.Linear(config.hidden, config.patch_outputs)
        self.adaLN_modulation = modulation(config, 2)

    def forward(self, x: paddle.Tensor, known: paddle.Tensor) -> paddle.Tensor:
        """(B, L, D), (B, D) -> (B, L, P P 2 C)."""
        shift, scale = self.adaLN_modulation(known).unsqueeze(1).chunk(2, axis=-1)
        return self.linear(modulated(self.norm_final(x), shift, scale))


def plain_norm(config: DiTConfig) -> nn.LayerNorm:
    return layer_norm(config.hidden, epsilon=config.epsilon, learned=False)


def modulation(config: DiTConfig, count: int) -> nn.Sequential:
    return nn.Sequential(nn.Silu(), nn.Linear(config.hidden, count * config.hidden))


def modulated(x: paddle.Tensor, shift: paddle.Tensor, scale: paddle.Tensor) -> paddle.Tensor:
    return x * (1 + scale) + shift


def build(config: DiTConfig) -> nn.Layer:
    return DiT(config)


def layers(model: DiT) -> Iterable[nn.Layer]:
    return model.blocks


def forward(model: nn.Layer, batch: Mapping[str, paddle.Tensor]) -> dict[str, paddle.Tensor]:
    """latents (B, C, H, W), timesteps (B), classes (B) -> denoised (B, 2 C, H, W)."""
    return {"denoised": model(batch["latents"], batch["timesteps"], batch["classes"])}


def loss(outputs: Mapping[str, paddle.Tensor], batch: Mapping[str, paddle.Tensor]) -> paddle.Tensor:
    """See mbench.workloads.dit."""
    noise, variance = outputs["denoised"].chunk(2, axis=1)
    gaps, weights = (batch[name].reshape([-1, 1, 1, 1]) for name in ("gaps", "weights"))
    error = (noise - batch["noise"]).square()
    shares = gaps * (variance + 1) * 0.5
    bound = shares + paddle.exp(-shares) * (1 + weights * error.detach()) - 1
    return (error + bound * exactly(1 / math.log(4), like=bound)).mean()
