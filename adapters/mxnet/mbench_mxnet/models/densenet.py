"""DenseNet in Gluon; names as in torchvision's.

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
    from mbench.workloads.densenet import DenseNetConfig

__all__ = ["build", "forward", "loss"]


class DenseNet(gluon.HybridBlock):
    def __init__(self, config: DenseNetConfig) -> None:
        super().__init__()
        channels = config.stem
        layers = {
            "conv0": convolution(3, channels, 7, strides=2),
            "norm0": normalization(config, channels),
            "relu0": relu(),
            "pool0": nn.MaxPool2D(3, strides=2, padding=1),
        }
        for block, depth in enumerate(config.blocks, start=1):
            layers[f"denseblock{block}"] = dense_block(config, channels, depth)
            channels += depth * config.growth
            if block < len(config.blocks):
                layers[f"transition{block}"] = transition(config, channels)
                channels //= 2
        layers["norm5"] = normalization(config, channels)
        self.features = sequence(**layers)
        self.relu = relu()
        self.avgpool = nn.GlobalAvgPool2D()
        self.classifier = nn.Dense(config.classes, in_units=channels)

    def hybrid_forward(self, F: Any, images: Any) -> Any:
        """(B, 3, H, W) -> (B, K)."""
        return self.classifier(self.avgpool(self.relu(self.features(images))))


class DenseLayer(gluon.HybridBlock):
    """Adds `growth` channels to those that it is given."""

    def __init__(self, config: DenseNetConfig, channels: int) -> None:
        super().__init__()
        inner = config.bottleneck * config.growth
        self.norm1 = normalization(config, channels)
        self.conv1 = convolution(channels, inner, 1)
        self.norm2 = normalization(config, inner)
        self.conv2 = convolution(inner, config.growth, 3)
        self.relu = relu()

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        new = self.conv1(self.relu(self.norm1(x)))
        new = self.conv2(self.relu(self.norm2(new)))
        return F.concat(x, new, dim=1)


def dense_block(config: DenseNetConfig, channels: int, depth: int) -> nn.HybridSequential:
    return sequence(
        **{
            f"denselayer{layer + 1}": DenseLayer(config, channels + layer * config.growth)
            for layer in range(depth)
        }
    )


def transition(config: DenseNetConfig, channels: int) -> nn.HybridSequential:
    """Halves channels, height and width."""
    return sequence(
        norm=normalization(config, channels),
        relu=relu(),
        conv=convolution(channels, channels // 2, 1),
        pool=nn.AvgPool2D(2, strides=2),
    )


def build(config: DenseNetConfig) -> gluon.HybridBlock:
    return DenseNet(config)
