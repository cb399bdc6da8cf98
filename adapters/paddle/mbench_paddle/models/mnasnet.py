"""mbench's own MnasNet-B1: paddle.vision has none.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddle import nn

from mbench.workloads.mnasnet import LAST
from mbench_paddle.images import forward, loss
from mbench_paddle.layers import norm

if TYPE_CHECKING:
    import paddle

    from mbench.workloads import mobilenet as plans
    from mbench.workloads.mnasnet import MnasNetConfig

__all__ = ["build", "forward", "loss"]


class MnasNet(nn.Layer):
    def __init__(self, config: MnasNetConfig) -> None:
        super().__init__()
        stem, inputs = config.stem, config.separable
        layers = [
            *convolution(config, 3, stem, 3, stride=2),
            nn.ReLU(),
            *convolution(config, stem, stem, 3, groups=stem),
            nn.ReLU(),
            *convolution(config, stem, inputs, 1),
        ]
        for stage in config.stages():
            layers.append(nn.Sequential(*(InvertedResidual(config, plan) for plan in stage)))
            inputs = stage[-1].outputs
        self.layers = nn.Sequential(*layers, *convolution(config, inputs, LAST, 1), nn.ReLU())
        self.classifier = nn.Sequential(nn.Dropout(config.dropout), nn.Linear(LAST, config.classes))

    def forward(self, images: paddle.Tensor) -> paddle.Tensor:
        """(B, C, H, W) -> (B, K)."""
        return self.classifier(self.layers(images).mean([2, 3]))


class InvertedResidual(nn.Layer):
    def __init__(self, config: MnasNetConfig, plan: plans.InvertedResidual) -> None:
        super().__init__()
        inner, stride = plan.inner, plan.stride
        self.layers = nn.Sequential(
            *convolution(config, plan.inputs, inner, 1),
            nn.ReLU(),
            *convolution(config, inner, inner, plan.kernel, stride=stride, groups=inner),
            nn.ReLU(),
            *convolution(config, inner, plan.outputs, 1),
        )
        self.summed = plan.summed

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        return x + self.layers(x) if self.summed else self.layers(x)


def convolution(
    config: MnasNetConfig,
    inputs: int,
    outputs: int,
    kernel: int,
    *,
    stride: int = 1,
    groups: int = 1,
) -> tuple[nn.Layer, nn.Layer]:
    """A convolution and its batch norm; at stride 1, it keeps the image's size."""
    made = nn.Conv2D(
        inputs,
        outputs,
        kernel,
        stride=stride,
        padding=kernel // 2,
        groups=groups,
        bias_attr=False,
    )
    return made, norm(config, outputs)


def build(config: MnasNetConfig) -> nn.Layer:
    return MnasNet(config)
