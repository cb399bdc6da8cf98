"""DenseNet: torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.nn import functional
from torchvision.models.densenet import DenseNet

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

    from mbench.workloads.densenet import DenseNetConfig

__all__ = ["build", "forward", "loss"]


def build(config: DenseNetConfig) -> DenseNet:
    return DenseNet(
        growth_rate=config.growth,
        block_config=config.blocks,
        num_init_features=config.stem,
        bn_size=config.bottleneck,
        num_classes=config.classes,
    )


def forward(model: DenseNet, batch: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """images (B, C, H, W) -> logits (B, K)."""
    return {"logits": model(batch["images"])}


def loss(outputs: Mapping[str, torch.Tensor], batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
    return functional.cross_entropy(outputs["logits"], batch["labels"])
