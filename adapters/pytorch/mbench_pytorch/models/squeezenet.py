"""SqueezeNet: torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.nn import functional
from torchvision.models.squeezenet import SqueezeNet

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

    from mbench.workloads.squeezenet import SqueezeNetConfig

__all__ = ["build", "forward", "loss"]


def build(config: SqueezeNetConfig) -> SqueezeNet:
    """torchvision knows both versions by name; the first convolution tells them apart."""
    version = "1_0" if config.kernel == 7 else "1_1"
    return SqueezeNet(version, num_classes=config.classes, dropout=config.dropout)


def forward(model: SqueezeNet, batch: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """images (B, C, H, W) -> logits (B, K)."""
    return {"logits": model(batch["images"])}


def loss(outputs: Mapping[str, torch.Tensor], batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
    return functional.cross_entropy(outputs["logits"], batch["labels"])
