"""ResNet, including wide and grouped ones: torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from torch import nn
from torch.nn import functional
from torchvision.models.resnet import BasicBlock, Bottleneck, ResNet

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

    from mbench.workloads.resnet import ResNetConfig

__all__ = ["build", "forward", "loss"]


class BottleneckV1(Bottleneck):
    """The paper's block, with the stride in its first convolution."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.conv1.stride, self.conv2.stride = self.conv2.stride, self.conv1.stride


def build(config: ResNetConfig) -> ResNet:
    """Raises ValueError for widths other than torchvision's, which are fixed."""
    if (config.widths, config.stem) != ((64, 128, 256, 512), 64):
        raise ValueError(f"torchvision's ResNet does not support these widths: {config}")
    if not config.bottleneck:
        block = BasicBlock
    else:
        block = BottleneckV1 if config.stride_first else Bottleneck
    return ResNet(
        block,
        list(config.blocks),
        num_classes=config.classes,
        groups=config.groups,
        width_per_group=config.group_width,
        norm_layer=partial(nn.BatchNorm2d, eps=config.epsilon, momentum=config.momentum),
    )


def forward(model: ResNet, batch: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """images (B, C, H, W) -> logits (B, K)."""
    return {"logits": model(batch["images"])}


def loss(outputs: Mapping[str, torch.Tensor], batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
    return functional.cross_entropy(outputs["logits"], batch["labels"])
