"""SqueezeNet in Gluon; names as in torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

# ruff: noqa: N803 (Gluon hands its operators over as F)

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mxnet import gluon
from mxnet.gluon import nn

from mbench_mxnet.images import forward, loss
from mbench_mxnet.layers import convolution, relu, sequence

if TYPE_CHECKING:
    from mbench.workloads.squeezenet import Fire, SqueezeNetConfig

__all__ = ["build", "forward", "loss"]


class SqueezeNet(gluon.HybridBlock):
    def __init__(self, config: SqueezeNetConfig) -> None:
        super().__init__()
        self.features = sequence(
            convolution(3, config.stem, config.kernel, strides=2, padding=0, bias=True), relu()
        )
        inputs = config.stem
        for group in config.groups:
            self.features.add(nn.MaxPool2D(3, strides=2, ceil_mode=True))
            for fire in group:
                self.features.add(FireModule(inputs, fire))
                inputs = 2 * fire.expand
        self.classifier = sequence(
            nn.Dropout(config.dropout),
            convolution(inputs, config.classes, 1, bias=True),
            relu(),
            nn.GlobalAvgPool2D(),
        )

    def hybrid_forward(self, F: Any, images: Any) -> Any:
        """(B, 3, H, W) -> (B, K)."""
        return self.classifier(self.features(images)).flatten()


class FireModule(gluon.HybridBlock):
    """Squeeze to few channels by 1x1; expand to many by 1x1 and 3x3, concatenated."""

    def __init__(self, inputs: int, fire: Fire) -> None:
        super().__init__()
        self.squeeze = convolution(inputs, fire.squeeze, 1, bias=True)
        self.expand1x1 = convolution(fire.squeeze, fire.expand, 1, bias=True)
        self.expand3x3 = convolution(fire.squeeze, fire.expand, 3, bias=True)
        self.relu = relu()

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        x = self.relu(self.squeeze(x))
        return F.concat(self.relu(self.expand1x1(x)), self.relu(self.expand3x3(x)), dim=1)


def build(config: SqueezeNetConfig) -> gluon.HybridBlock:
    return SqueezeNet(config)
