"""GoogLeNet with batch norm, which paddle.vision's lacks.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import paddle
from paddle import nn
from paddle.nn import functional as F

from mbench.workloads.googlenet import AUXILIARY_SIDE, AUXILIARY_WEIGHT
from mbench_paddle.layers import BasicConv2D, exactly

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.workloads.googlenet import GoogLeNetConfig, Mixed

__all__ = ["build", "forward", "loss"]


class GoogLeNet(nn.Layer):
    def __init__(self, config: GoogLeNetConfig) -> None:
        super().__init__()
        self.conv1 = BasicConv2D(config, 3, 64, 7, stride=2, padding=3)
        self.maxpool1 = nn.MaxPool2D(3, stride=2, ceil_mode=True)
        self.conv2 = BasicConv2D(config, 64, 64, 1)
        self.conv3 = BasicConv2D(config, 64, 192, 3, padding=1)
        self.maxpool2 = nn.MaxPool2D(3, stride=2, ceil_mode=True)
        inputs = 192
        for module in config.modules:
            self.add_sublayer(f"inception{module.name}", Inception(config, module, inputs))
            inputs = module.outputs
            if module.auxiliary:
                self.add_sublayer(module.auxiliary, Auxiliary(config, inputs))
        self.maxpool3 = nn.MaxPool2D(3, stride=2, ceil_mode=True)
        self.maxpool4 = nn.MaxPool2D(2, stride=2, ceil_mode=True)
        self.dropout = nn.Dropout(config.dropout)
        self.fc = nn.Linear(inputs, config.classes)

    def forward(self, images: paddle.Tensor) -> paddle.Tensor | tuple[paddle.Tensor, ...]:
        """(B, C, H, W) -> (B, K); in training also of both auxiliary heads."""
        x = self.maxpool1(self.conv1(images))
        x = self.maxpool2(self.conv3(self.conv2(x)))
        x = self.maxpool3(self.inception3b(self.inception3a(x)))
        x = self.inception4a(x)
        first = self.aux1(x) if self.training else None
        x = self.inception4d(self.inception4c(self.inception4b(x)))
        second = self.aux2(x) if self.training else None
        x = self.maxpool4(self.inception4e(x))
        x = self.inception5b(self.inception5a(x))
        logits = self.fc(self.dropout(x.mean([2, 3])))
        return (logits, first, second) if self.training else logits


class Inception(nn.Layer):
    """Four branches; the third has a 3x3 convolution where the paper has 5x5."""

    def __init__(self, config: GoogLeNetConfig, module: Mixed, inputs: int) -> None:
        super().__init__()
        self.branch1 = BasicConv2D(config, inputs, module.single, 1)
        self.branch2 = nn.Sequential(
            BasicConv2D(config, inputs, module.reduce3, 1),
            BasicConv2D(config, module.reduce3, module.wide3, 3, padding=1),
        )
        self.branch3 = nn.Sequential(
            BasicConv2D(config, inputs, module.reduce5, 1),
            BasicConv2D(config, module.reduce5, module.wide5, 3, padding=1),
        )
        self.branch4 = nn.Sequential(
            nn.MaxPool2D(3, stride=1, padding=1, ceil_mode=True),
            BasicConv2D(config, inputs, module.pooled, 1),
        )

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        branches = (self.branch1, self.branch2, self.branch3, self.branch4)
        return paddle.concat([branch(x) for branch in branches], axis=1)


class Auxiliary(nn.Layer):
    def __init__(self, config: GoogLeNetConfig, inputs: int) -> None:
        super().__init__()
        self.conv = BasicConv2D(config, inputs, 128, 1)
        self.fc1 = nn.Linear(128 * AUXILIARY_SIDE**2, 1024)
        self.fc2 = nn.Linear(1024, config.classes)
        self.dropout = nn.Dropout(config.auxiliary_dropout)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        x = self.conv(F.adaptive_avg_pool2d(x, AUXILIARY_SIDE))
        return self.fc2(self.dropout(F.relu(self.fc1(x.flatten(1)))))


def build(config: GoogLeNetConfig) -> nn.Layer:
    return GoogLeNet(config)


def forward(model: nn.Layer, batch: Mapping[str, paddle.Tensor]) -> dict[str, paddle.Tensor]:
    """images (B, C, H, W) -> logits (B, K); in training both auxiliary heads' too."""
    if not model.training:
        return {"logits": model(batch["images"])}
    logits, first, second = model(batch["images"])
    return {"logits": logits, "aux1_logits": first, "aux2_logits": second}


def loss(outputs: Mapping[str, paddle.Tensor], batch: Mapping[str, paddle.Tensor]) -> paddle.Tensor:
    main, first, second = (
        F.cross_entropy(outputs[name], batch["labels"])
        for name in ("logits", "aux1_logits", "aux2_logits")
    )
    return main + (first + second) * exactly(AUXILIARY_WEIGHT, like=main)
