"""ResNet v1.5 in Gluon; names as in torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

# ruff: noqa: N803 (Gluon hands its operators over as F)

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mxnet import gluon
from mxnet.gluon import nn

from mbench_mxnet.layers import BatchNorm

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.workloads.resnet import ResNetConfig

__all__ = ["build", "forward", "loss"]


class ResNet(gluon.HybridBlock):
    def __init__(self, config: ResNetConfig) -> None:
        super().__init__()
        self.conv1 = convolution(3, config.stem, 7, strides=2)
        self.bn1 = normalization(config, config.stem)
        self.relu = nn.Activation("relu")
        self.maxpool = nn.MaxPool2D(3, strides=2, padding=1)
        inputs = config.stem
        self.layers = []
        for stage, (blocks, width) in enumerate(
            zip(config.blocks, config.widths, strict=False), start=1
        ):
            layer = nn.HybridSequential(prefix="")
            for block in range(blocks):
                strides = 2 if stage > 1 and block == 0 else 1
                layer.add(Bottleneck(config, inputs, width, strides, downsample=block == 0))
                inputs = width * config.expansion
            setattr(self, f"layer{stage}", layer)
            self.layers.append(layer)
        self.avgpool = nn.GlobalAvgPool2D()
        self.fc = nn.Dense(config.classes, in_units=inputs)

    def hybrid_forward(self, F: Any, images: Any) -> Any:
        """(B, 3, H, W) -> (B, K)."""
        x = self.maxpool(self.relu(self.bn1(self.conv1(images))))  # (B, C, H/4, W/4)
        for layer in self.layers:
            x = layer(x)
        return self.fc(self.avgpool(x))


class Bottleneck(gluon.HybridBlock):
    """1x1, 3x3 with the stride (hence v1.5), 1x1; the first of a stage has its own shortcut."""

    def __init__(
        self, config: ResNetConfig, inputs: int, width: int, strides: int, *, downsample: bool
    ) -> None:
        super().__init__()
        outputs = width * config.expansion
        self.conv1 = convolution(inputs, width, 1)
        self.bn1 = normalization(config, width)
        self.conv2 = convolution(width, width, 3, strides=strides)
        self.bn2 = normalization(config, width)
        self.conv3 = convolution(width, outputs, 1)
        self.bn3 = normalization(config, outputs)
        self.relu = nn.Activation("relu")
        self.downsample = nn.HybridSequential(prefix="")
        if downsample:
            self.downsample.add(
                convolution(inputs, outputs, 1, strides=strides), normalization(config, outputs)
            )

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        return self.relu(self.bn3(self.conv3(y)) + self.downsample(x))


def convolution(inputs: int, outputs: int, kernel: int, *, strides: int = 1) -> nn.Conv2D:
    return nn.Conv2D(
        outputs, kernel, strides, padding=kernel // 2, use_bias=False, in_channels=inputs
    )


def normalization(config: ResNetConfig, channels: int) -> BatchNorm:
    return BatchNorm(momentum=1 - config.momentum, epsilon=config.epsilon, in_channels=channels)


def build(config: ResNetConfig) -> gluon.HybridBlock:
    return ResNet(config)


def forward(model: gluon.HybridBlock, batch: Mapping[str, Any]) -> dict[str, Any]:
    """images (B, 3, H, W) -> logits (B, K)."""
    return {"logits": model(batch["images"])}


def loss(outputs: Mapping[str, Any], batch: Mapping[str, Any]) -> Any:
    cross_entropy = gluon.loss.SoftmaxCrossEntropyLoss()
    return cross_entropy(outputs["logits"], batch["labels"]).mean()
