"""ResNet v1.5: torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from torch import nn
from torch.nn import functional
from torchvision.models.resnet import Bottleneck, ResNet

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

    from mbench.workloads.resnet import ResNetConfig

__all__ = ["build", "forward", "loss"]


def build(config: ResNetConfig) -> ResNet:
    """Raises ValueError for widths other than torchvision's, which are fixed."""
    if (config.widths, config.expansion, config.stem) != ((64, 128, 256, 512), 4, 64):
        raise ValueError(f"torchvision's ResNet has no such widths: {config}")
    norm = partial(nn.BatchNorm2d, eps=config.epsilon, momentum=config.momentum)
    return ResNet(Bottleneck, list(config.blocks), num_classes=config.classes, norm_layer=norm)


def forward(model: ResNet, batch: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """images (B, C, H, W) -> logits (B, K)."""
    return {"logits": model(batch["images"])}


def loss(outputs: Mapping[str, torch.Tensor], batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
    return functional.cross_entropy(outputs["logits"], batch["labels"])
