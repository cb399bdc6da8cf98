"""ResNet v1.5: paddle.vision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddle import nn
from paddle.nn import functional as F
from paddle.vision.models.resnet import BottleneckBlock, ResNet

from mbench_paddle.layers import BatchNorm2D

if TYPE_CHECKING:
    from collections.abc import Mapping

    import paddle

    from mbench.workloads.resnet import ResNetConfig

__all__ = ["build", "forward", "loss"]

DEPTHS = {(3, 4, 6, 3): 50, (3, 4, 23, 3): 101, (3, 8, 36, 3): 152}


def build(config: ResNetConfig) -> nn.Layer:
    """Raises ValueError for widths or blocks other than paddle.vision's, which are fixed."""
    if (config.widths, config.expansion, config.stem) != ((64, 128, 256, 512), 4, 64):
        raise ValueError(f"paddle.vision's ResNet has no such widths: {config}")
    if config.blocks not in DEPTHS:
        raise ValueError(f"paddle.vision's ResNet has no such blocks: {config}")
    model = ResNet(BottleneckBlock, DEPTHS[config.blocks], num_classes=config.classes)
    for parent in model.sublayers(include_self=True):
        for name, layer in list(parent.named_children()):
            if isinstance(layer, nn.BatchNorm2D):
                parent.add_sublayer(name, norm(config, channels=layer._num_features))
    return model


def norm(config: ResNetConfig, *, channels: int) -> BatchNorm2D:
    """PaddlePaddle's momentum is the weight of the old statistic, not of the new one."""
    return BatchNorm2D(channels, momentum=1 - config.momentum, epsilon=config.epsilon)


def forward(model: nn.Layer, batch: Mapping[str, paddle.Tensor]) -> dict[str, paddle.Tensor]:
    """images (B, C, H, W) -> logits (B, K)."""
    return {"logits": model(batch["images"])}


def loss(outputs: Mapping[str, paddle.Tensor], batch: Mapping[str, paddle.Tensor]) -> paddle.Tensor:
    return F.cross_entropy(outputs["logits"], batch["labels"])
