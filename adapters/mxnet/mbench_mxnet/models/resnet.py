"""ResNet in Gluon, including wide and grouped ones; names as in torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

# ruff: noqa: N803 (Gluon hands its operators over as F)

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mxnet import gluon
from mxnet.gluon import nn

from mbench_mxnet.images import forward, loss
from mbench_mxnet.layers import convolution, normalization, relu, sequence

if TYPE_CHECKING:
    from mbench.workloads.resnet import ResNetConfig

__all__ = ["build", "forward", "loss"]


class ResNet(gluon.HybridBlock):
    def __init__(self, config: ResNetConfig) -> None:
        super().__init__()
        self.conv1 = convolution(3, config.stem, 7, strides=2)
        self.bn1 = normalization(config, config.stem)
        self.relu = relu()
        self.maxpool = nn.MaxPool2D(3, strides=2, padding=1)
        kind = Bottleneck if config.bottleneck else Basic
        self.layers, inputs = [], config.stem
        stages = zip(config.blocks, config.widths, strict=True)
        for stage, (blocks, width) in enumerate(stages, start=1):
            layer = sequence()
            for block in range(blocks):
                strides = 2 if stage > 1 and block == 0 else 1
                layer.add(kind(config, inputs, width, strides))
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


class Basic(gluon.HybridBlock):
    """Two 3x3 convolutions, the first with the stride."""

    def __init__(self, config: ResNetConfig, inputs: int, width: int, strides: int) -> None:
        super().__init__()
        self.conv1 = convolution(inputs, width, 3, strides=strides)
        self.bn1 = normalization(config, width)
        self.conv2 = convolution(width, width, 3)
        self.bn2 = normalization(config, width)
        self.relu = relu()
        self.downsample = shortcut(config, inputs, width, strides)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        y = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(y)) + self.downsample(x))


class Bottleneck(gluon.HybridBlock):
    """1x1, 3x3 with the stride, 1x1; in v1 the first has the stride."""

    def __init__(self, config: ResNetConfig, inputs: int, width: int, strides: int) -> None:
        super().__init__()
        inner, outputs = config.inner(width), width * config.expansion
        first, second = (strides, 1) if config.stride_first else (1, strides)
        self.conv1 = convolution(inputs, inner, 1, strides=first)
        self.bn1 = normalization(config, inner)
        self.conv2 = convolution(inner, inner, 3, strides=second, groups=config.groups)
        self.bn2 = normalization(config, inner)
        self.conv3 = convolution(inner, outputs, 1)
        self.bn3 = normalization(config, outputs)
        self.relu = relu()
        self.downsample = shortcut(config, inputs, outputs, strides)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        return self.relu(self.bn3(self.conv3(y)) + self.downsample(x))


def shortcut(config: ResNetConfig, inputs: int, outputs: int, strides: int) -> nn.HybridSequential:
    """A 1x1 convolution with batch norm; empty if its output has the shape of its input."""
    if strides == 1 and inputs == outputs:
        return sequence()
    return sequence(
        convolution(inputs, outputs, 1, strides=strides), normalization(config, outputs)
    )


def build(config: ResNetConfig) -> gluon.HybridBlock:
    return ResNet(config)
