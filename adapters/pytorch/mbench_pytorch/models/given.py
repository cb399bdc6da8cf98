"""A linear layer whose gradients are given. Shapes: B batch, N inputs, K outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

    from mbench.workloads.given import GivenConfig

__all__ = ["build", "forward", "loss"]


class Given(nn.Module):
    def __init__(self, config: GivenConfig) -> None:
        super().__init__()
        self.linear = nn.Linear(config.inputs, config.outputs)


def build(config: GivenConfig) -> Given:
    return Given(config)


def forward(model: Given, batch: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """inputs (B, N) -> outputs (B, K)."""
    return {"outputs": model.linear(batch["inputs"])}


def loss(outputs: Mapping[str, torch.Tensor], batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """The mean over samples of the dot products of outputs and directions, both (B, K)."""
    return (outputs["outputs"] * batch["directions"]).sum(dim=1).mean()
