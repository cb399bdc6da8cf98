"""Recommenders as facebookresearch/dlrm builds them, with torchrec's low-rank cross network.

Shapes: B batch, C continuous features, N category numbers, F interacting features, D width, S input
width of the cross network, R its rank.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.workloads.dlrm import DlrmConfig

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

DIFFERENCES = (
    "tables are nn.EmbeddingBag with its dense gradients: each step updates all their rows",
)


class Dlrm(nn.Module):
    def __init__(self, config: DlrmConfig) -> None:
        super().__init__()
        self.bags = list(config.bags)
        self.emb_l = nn.ModuleList(
            nn.EmbeddingBag(rows, config.width, mode="sum") for rows in config.table_rows
        )
        self.bot_l = mlp(config.continuous, config.bottom)
        self.bot_l.append(nn.ReLU())
        self.top_l = mlp(config.interactions, config.top)
        self.crossnet = CrossNet(config) if config.cross_layers else None
        if self.crossnet is None:
            pairs = torch.tensor(config.pairs, device="cpu").T
            self.register_buffer("position_ids", pairs, persistent=False)

    def forward(self, continuous: torch.Tensor, categories: torch.Tensor) -> torch.Tensor:
        """(B, C), (B, N) -> (B)."""
        x = self.bot_l(continuous)
        bags = categories.split(self.bags, dim=1)
        rows = [table(bag) for table, bag in zip(self.emb_l, bags, strict=True)]
        features = torch.stack([x, *(row.to(x.dtype) for row in rows)], dim=1)  # (B, F, D)
        if self.crossnet is not None:
            mixed = self.crossnet(features.flatten(1))
        else:
            products = torch.bmm(features, features.transpose(1, 2))
            one, other = self.position_ids
            mixed = torch.cat((x, products[:, one, other]), dim=1)
        return self.top_l(mixed).squeeze(1)


class CrossNet(nn.Module):
    def __init__(self, config: DlrmConfig) -> None:
        super().__init__()
        size, rank, layers = config.interactions, config.rank, range(config.cross_layers)
        self.W_kernels = nn.ParameterList(nn.Parameter(torch.empty(size, rank)) for _ in layers)
        self.V_kernels = nn.ParameterList(nn.Parameter(torch.empty(rank, size)) for _ in layers)
        self.bias = nn.ParameterList(nn.Parameter(torch.empty(size)) for _ in layers)

    def forward(self, start: torch.Tensor) -> torch.Tensor:
        """(B, S) -> (B, S)."""
        x = start
        for wide, narrow, bias in zip(self.W_kernels, self.V_kernels, self.bias, strict=True):
            x = start * functional.linear(functional.linear(x, narrow), wide, bias) + x
        return x


def mlp(inputs: int, outputs: Sequence[int]) -> nn.Sequential:
    """Linear layers with a ReLU between each two."""
    layers: list[nn.Module] = []
    for size in outputs:
        layers += [*([nn.ReLU()] if layers else []), nn.Linear(inputs, size)]
        inputs = size
    return nn.Sequential(*layers)


build = Dlrm


def forward(model: nn.Module, batch: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """continuous (B, C), categories (B, N) -> logits (B)."""
    return {"logits": model(batch["continuous"], batch["categories"])}


def loss(outputs: Mapping[str, torch.Tensor], batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
    logits = outputs["logits"]
    return functional.binary_cross_entropy_with_logits(logits, batch["labels"].to(logits.dtype))
