"""MnasNet: torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.nn import functional
from torchvision.models.mnasnet import MNASNet

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

    from mbench.workloads.mnasnet import MnasNetConfig

__all__ = ["build", "forward", "loss"]


def build(config: MnasNetConfig) -> MNASNet:
    return MNASNet(config.width, num_classes=config.classes, dropout=config.dropout)


def forward(model: MNASNet, batch: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """images (B, C, H, W) -> logits (B, K)."""
    return {"logits": model(batch["images"])}


def loss(outputs: Mapping[str, torch.Tensor], batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
    return functional.cross_entropy(outputs["logits"], batch["labels"])
