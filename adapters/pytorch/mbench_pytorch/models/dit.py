"""Diffusion transformers; modules are named as in facebookresearch/DiT.

Shapes: B batch, C channels, H W latent pixels, P side of a patch, L patches, D hidden.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional

from mbench_pytorch.tiers import ATTENTION

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mbench.workloads.dit import DiTConfig

__all__ = ["DIFFERENCES", "build", "forward", "layers", "loss"]

DIFFERENCES = (
    ATTENTION,
    "waves of timesteps come from a table in place of sines in each step",
)


class DiT(nn.Module):
    def __init__(self, config: DiTConfig) -> None:
        super().__init__()
        hidden = config.hidden
        self.side, self.patch = config.side, config.patch_size
        self.x_embedder = PatchEmbed(config)
        self.t_embedder = TimestepEmbedder(config)
        self.y_embedder = LabelEmbedder(config)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.final_layer = FinalLayer(config)
        positions = torch.tensor(config.positions()).reshape(1, -1, hidden)
        self.register_buffer("pos_embed", positions, persistent=False)

    def forward(
        self, latents: torch.Tensor, timesteps: torch.Tensor, classes: torch.Tensor
    ) -> torch.Tensor:
        """(B, C, H, W), (B), (B) -> (B, 2 C, H, W)."""
        x = self.x_embedder(latents) + self.pos_embed
        known = self.t_embedder(timesteps) + self.y_embedder(classes)
        for block in self.blocks:
            x = block(x, known)
        x = self.final_layer(x, known).unflatten(2, (self.patch, self.patch, -1))
        x = x.unflatten(1, (self.side, self.side))  # (B, H/P, W/P, P, P, 2 C)
        return x.permute(0, 5, 1, 3, 2, 4).flatten(4, 5).flatten(2, 3)


class PatchEmbed(nn.Module):
    def __init__(self, config: DiTConfig) -> None:
        super().__init__()
        size = config.patch_size
        self.proj = nn.Conv2d(4, config.hidden, size, stride=size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(B, C, H, W) -> (B, L, D)."""
        return self.proj(x).flatten(2).transpose(1, 2)


class TimestepEmbedder(nn.Module):
    def __init__(self, config: DiTConfig) -> None:
        super().__init__()
        table = torch.tensor(config.timestep_waves())
        self.register_buffer("waves", table, persistent=False)
        self.mlp = nn.Sequential(
            nn.Linear(table.shape[1], config.hidden),
            nn.SiLU(),
            nn.Linear(config.hidden, config.hidden),
        )

    def forward(self, timesteps: torch.Tensor) -> torch.Tensor:
        """(B) -> (B, D)."""
        return self.mlp(self.waves[timesteps])


class LabelEmbedder(nn.Module):
    def __init__(self, config: DiTConfig) -> None:
        super().__init__()
        self.embedding_table = nn.Embedding(config.classes + 1, config.hidden)

    def forward(self, classes: torch.Tensor) -> torch.Tensor:
        """(B) -> (B, D)."""
        return self.embedding_table(classes)


class Block(nn.Module):
    """Attention and an MLP, each with a modulated norm before it and a gate after."""

    def __init__(self, config: DiTConfig) -> None:
        super().__init__()
        self.norm1 = plain_norm(config)
        self.attn = Attention(config)
        self.norm2 = plain_norm(config)
        self.mlp = MLP(config)
        self.adaLN_modulation = modulation(config, 6)

    def forward(self, x: torch.Tensor, known: torch.Tensor) -> torch.Tensor:
        """(B, L, D), (B, D) -> (B, L, D)."""
        shift, scale, gate, *others = self.adaLN_modulation(known)[:, None].chunk(6, dim=-1)
        x = x + gate * self.attn(modulated(self.norm1(x), shift, scale))
        shift, scale, gate = others
        return x + gate * self.mlp(modulated(self.norm2(x), shift, scale))


class Attention(nn.Module):
    """Every patch attends to all patches."""

    def __init__(self, config: DiTConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.qkv = nn.Linear(config.hidden, 3 * config.hidden)
        self.proj = nn.Linear(config.hidden, config.hidden)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(B, L, D) -> (B, L, D)."""
        parts = self.qkv(x).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        query, key, value = parts.unbind(0)  # each (B, heads, L, width of a head)
        x = functional.scaled_dot_product_attention(query, key, value)
        return self.proj(x.transpose(1, 2).flatten(2))


class MLP(nn.Module):
    def __init__(self, config: DiTConfig) -> None:
        super().__init__()
        self.fc1 = nn.Linear(config.hidden, 4 * config.hidden)
        self.fc2 = nn.Linear(4 * config.hidden, config.hidden)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc2(functional.gelu(self.fc1(x), approximate="tanh"))


class FinalLayer(nn.Module):
    def __init__(self, config: DiTConfig) -> None:
        super().__init__()
        self.norm_final = plain_norm(config)
        self.linear = nn.Linear(config.hidden, config.patch_outputs)
        self.adaLN_modulation = modulation(config, 2)

    def forward(self, x: torch.Tensor, known: torch.Tensor) -> torch.Tensor:
        """(B, L, D), (B, D) -> (B, L, P P 2 C)."""
        shift, scale = self.adaLN_modulation(known)[:, None].chunk(2, dim=-1)
        return self.linear(modulated(self.norm_final(x), shift, scale))


def plain_norm(config: DiTConfig) -> nn.LayerNorm:
    return nn.LayerNorm(config.hidden, elementwise_affine=False, eps=config.epsilon)


def modulation(config: DiTConfig, count: int) -> nn.Sequential:
    return nn.Sequential(nn.SiLU(), nn.Linear(config.hidden, count * config.hidden))


def modulated(x: torch.Tensor, shift: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return x * (1 + scale) + shift


build = DiT


def layers(model: DiT) -> Iterable[nn.Module]:
    return model.blocks


def forward(model: DiT, batch: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """latents (B, C, H, W), timesteps (B), classes (B) -> denoised (B, 2 C, H, W)."""
    return {"denoised": model(batch["latents"], batch["timesteps"], batch["classes"])}


def loss(outputs: Mapping[str, torch.Tensor], batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """See mbench.workloads.dit."""
    noise, variance = outputs["denoised"].chunk(2, dim=1)
    gaps, weights = (batch[name][:, None, None, None] for name in ("gaps", "weights"))
    error = (noise - batch["noise"]).square()
    shares = gaps * (variance + 1) / 2
    bound = shares + torch.exp(-shares) * (1 + weights * error.detach()) - 1
    return (error + bound / math.log(4)).mean()
