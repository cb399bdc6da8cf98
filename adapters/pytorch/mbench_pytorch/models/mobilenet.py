"""MobileNetV2: torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.nn import functional
from torchvision.models.mobilenetv2 import MobileNetV2

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

    from mbench.workloads.mobilenet import MobileNetConfig

__all__ = ["build", "forward", "loss"]


def build(config: MobileNetConfig) -> MobileNetV2:
    settings = [[s.expansion, s.outputs, s.repeats, s.stride] for s in config.stacks]
    return MobileNetV2(
        num_classes=config.classes, inverted_residual_setting=settings, dropout=config.dropout
    )


def forward(model: MobileNetV2, batch: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """images (B, C, H, W) -> logits (B, K)."""
    return {"logits": model(batch["images"])}


def loss(outputs: Mapping[str, torch.Tensor], batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
    return functional.cross_entropy(outputs["logits"], batch["labels"])
