"""ShuffleNetV2: torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.nn import functional
from torchvision.models.shufflenetv2 import ShuffleNetV2

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

    from mbench.workloads.shufflenet import ShuffleNetConfig

__all__ = ["build", "forward", "loss"]


def build(config: ShuffleNetConfig) -> ShuffleNetV2:
    widths = [config.stem, *config.widths, config.last]
    return ShuffleNetV2(list(config.blocks), widths, num_classes=config.classes)


def forward(model: ShuffleNetV2, batch: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """images (B, C, H, W) -> logits (B, K)."""
    return {"logits": model(batch["images"])}


def loss(outputs: Mapping[str, torch.Tensor], batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
    return functional.cross_entropy(outputs["logits"], batch["labels"])
