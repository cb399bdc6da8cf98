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
    from mbench.workloads.shufflenet import ShuffleNetConfig, Unit

__all__ = ["build", "forward", "loss"]


class ShuffleNet(gluon.HybridBlock):
    def __init__(self, config: ShuffleNetConfig) -> None:
        super().__init__()
        self.conv1 = sequence(
            convolution(3, config.stem, 3, strides=2), normalization(config, config.stem), relu()
        )
        self.maxpool = nn.MaxPool2D(3, strides=2, padding=1)
        self.stages = []
        for number, units in enumerate(config.stages(), start=2):
            stage = sequence(*(Block(config, unit) for unit in units))
            setattr(self, f"stage{number}", stage)
            self.stages.append(stage)
        self.conv5 = sequence(
            convolution(config.widths[-1], config.last, 1),
            normalization(config, config.last),
            relu(),
        )
        self.avgpool = nn.GlobalAvgPool2D()
        self.fc = nn.Dense(config.classes, in_units=config.last)

    def hybrid_forward(self, F: Any, images: Any) -> Any:
        """(B, 3, H, W) -> (B, K)."""
        x = self.maxpool(self.conv1(images))  # (B, C, H/4, W/4)
        for stage in self.stages:
            x = stage(x)
        return self.fc(self.avgpool(self.conv5(x)))


class Block(gluon.HybridBlock):
    """With stride 2, both branches take all channels; with 1, the first half stays as it is."""

    def __init__(self, config: ShuffleNetConfig, unit: Unit) -> None:
        super().__init__()
        inputs, half = unit.inputs, unit.half
        self._kept = unit.stride == 1
        if not self._kept:
            self.branch1 = sequence(
                convolution(inputs, inputs, 3, strides=unit.stride, groups=inputs),
                normalization(config, inputs),
                convolution(inputs, half, 1),
                normalization(config, half),
                relu(),
            )
        self.branch2 = sequence(
            convolution(unit.taken, half, 1),
            normalization(config, half),
            relu(),
            convolution(half, half, 3, strides=unit.stride, groups=half),
            normalization(config, half),
            convolution(half, half, 1),
            normalization(config, half),
            relu(),
        )

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        if self._kept:
            kept, worked = F.split(x, num_outputs=2, axis=1)
            return shuffled(F, kept, self.branch2(worked))
        return shuffled(F, self.branch1(x), self.branch2(x))


def shuffled(F: Any, one: Any, other: Any) -> Any:
    """Twice (B, C, H, W) -> (B, 2C, H, W), where their channels alternate."""
    return F.stack(one, other, axis=2).reshape((0, -3, -2))


def build(config: ShuffleNetConfig) -> gluon.HybridBlock:
    return ShuffleNet(config)
