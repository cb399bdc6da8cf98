"""ShuffleNetV2 in Gluon; names as in torchvision's.

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
    from mbench.workloads.shufflenet import ShuffleNetConfig

__all__ = ["build", "forward", "loss"]


class ShuffleNet(gluon.HybridBlock):
    def __init__(self, config: ShuffleNetConfig) -> None:
        super().__init__()
        self.conv1 = sequence(
            convolution(3, config.stem, 3, strides=2), normalization(config, config.stem), relu()
        )
        self.maxpool = nn.MaxPool2D(3, strides=2, padding=1)
        self.stages, inputs = [], config.stem
        stages = zip(config.blocks, config.widths, strict=True)
        for number, (blocks, width) in enumerate(stages, start=2):
            stage = sequence(Downsampling(config, inputs, width))
            for _ in range(blocks - 1):
                stage.add(Block(config, width))
            setattr(self, f"stage{number}", stage)
            self.stages.append(stage)
            inputs = width
        self.conv5 = sequence(
            convolution(inputs, config.last, 1), normalization(config, config.last), relu()
        )
        self.avgpool = nn.GlobalAvgPool2D()
        self.fc = nn.Dense(config.classes, in_units=config.last)

    def hybrid_forward(self, F: Any, images: Any) -> Any:
        """(B, 3, H, W) -> (B, K)."""
        x = self.maxpool(self.conv1(images))  # (B, C, H/4, W/4)
        for stage in self.stages:
            x = stage(x)
        return self.fc(self.avgpool(self.conv5(x)))


class Downsampling(gluon.HybridBlock):
    """Both branches halve height and width, and make half of the channels each."""

    def __init__(self, config: ShuffleNetConfig, inputs: int, width: int) -> None:
        super().__init__()
        self.branch1 = sequence(
            convolution(inputs, inputs, 3, strides=2, groups=inputs),
            normalization(config, inputs),
            convolution(inputs, width // 2, 1),
            normalization(config, width // 2),
            relu(),
        )
        self.branch2 = branch(config, inputs, width // 2, strides=2)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return shuffled(F, self.branch1(x), self.branch2(x))


class Block(gluon.HybridBlock):
    """Leaves the first half of the channels as they are."""

    def __init__(self, config: ShuffleNetConfig, width: int) -> None:
        super().__init__()
        self.branch2 = branch(config, width // 2, width // 2, strides=1)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        kept, worked = F.split(x, num_outputs=2, axis=1)
        return shuffled(F, kept, self.branch2(worked))


def branch(
    config: ShuffleNetConfig, inputs: int, outputs: int, *, strides: int
) -> nn.HybridSequential:
    """1x1, depthwise 3x3 without ReLU, 1x1."""
    return sequence(
        convolution(inputs, outputs, 1),
        normalization(config, outputs),
        relu(),
        convolution(outputs, outputs, 3, strides=strides, groups=outputs),
        normalization(config, outputs),
        convolution(outputs, outputs, 1),
        normalization(config, outputs),
        relu(),
    )


def shuffled(F: Any, one: Any, other: Any) -> Any:
    """Twice (B, C, H, W) -> (B, 2C, H, W), where their channels alternate."""
    return F.stack(one, other, axis=2).reshape((0, -3, -2))


def build(config: ShuffleNetConfig) -> gluon.HybridBlock:
    return ShuffleNet(config)
