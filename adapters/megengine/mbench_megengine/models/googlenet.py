"""GoogLeNet, with its auxiliary heads; names as in torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from megengine import functional as F
from megengine import module as M

from mbench.workloads.googlenet import AUXILIARY_SIDE, AUXILIARY_WEIGHT
from mbench_megengine.layers import BasicConv2d, Dropout, MaxPool, Regions, flat, pixels

if TYPE_CHECKING:
    from collections.abc import Mapping

    from megengine import Tensor

    from mbench.workloads.googlenet import GoogLeNetConfig, Mixed

__all__ = ["build", "forward", "loss"]

AFTER_OVERLAPS = ("3a", "4a")
"""Modules after a pooling of 3x3 at stride 2."""


class GoogLeNet(M.Module):
    def __init__(self, config: GoogLeNetConfig) -> None:
        super().__init__()
        self.conv1 = BasicConv2d(config, 3, 64, 7, stride=2, padding=3)
        self.maxpool1 = MaxPool(3, stride=2, ceil=True)
        self.conv2 = BasicConv2d(config, 64, 64, 1)
        self.conv3 = BasicConv2d(config, 64, 192, 3, padding=1)
        self.maxpool2 = MaxPool(3, stride=2, ceil=True)
        inputs = 192
        for module in config.modules:
            setattr(self, f"inception{module.name}", Inception(config, module, inputs))
            inputs = module.outputs
            if module.auxiliary:
                setattr(self, module.auxiliary, Auxiliary(config, inputs))
        self.maxpool3 = MaxPool(3, stride=2, ceil=True)
        self.maxpool4 = MaxPool(2, stride=2, ceil=True)
        self.dropout = Dropout(config.dropout)
        self.fc = M.Linear(inputs, config.classes)

    def forward(self, images: Tensor) -> Tensor | tuple[Tensor, ...]:
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
        logits = self.fc(self.dropout(pixels(x)))
        return (logits, first, second) if self.training else logits


class Inception(M.Module):
    """Four branches; the third has a 3x3 convolution where the paper has 5x5."""

    def __init__(self, config: GoogLeNetConfig, module: Mixed, inputs: int) -> None:
        super().__init__()
        self.branch1 = BasicConv2d(config, inputs, module.single, 1)
        self.branch2 = M.Sequential(
            BasicConv2d(config, inputs, module.reduce3, 1),
            BasicConv2d(config, module.reduce3, module.wide3, 3, padding=1),
        )
        self.branch3 = M.Sequential(
            BasicConv2d(config, inputs, module.reduce5, 1),
            BasicConv2d(config, module.reduce5, module.wide5, 3, padding=1),
        )
        self.branch4 = M.Sequential(
            MaxPool(3, stride=1, padding=1, ties=module.name in AFTER_OVERLAPS),
            BasicConv2d(config, inputs, module.pooled, 1),
        )

    def forward(self, x: Tensor) -> Tensor:
        branches = (self.branch1, self.branch2, self.branch3, self.branch4)
        return F.concat([branch(x) for branch in branches], axis=1)


class Auxiliary(M.Module):
    def __init__(self, config: GoogLeNetConfig, inputs: int) -> None:
        super().__init__()
        self.pool = Regions(AUXILIARY_SIDE)
        self.conv = BasicConv2d(config, inputs, 128, 1)
        self.fc1 = M.Linear(128 * AUXILIARY_SIDE**2, 1024)
        self.fc2 = M.Linear(1024, config.classes)
        self.dropout = Dropout(config.auxiliary_dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv(self.pool(x))
        return self.fc2(self.dropout(F.relu(self.fc1(flat(x)))))


def build(config: GoogLeNetConfig) -> M.Module:
    return GoogLeNet(config)


def forward(model: M.Module, batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """images (B, C, H, W) -> logits (B, K); in training both auxiliary heads' too."""
    if not model.training:
        return {"logits": model(batch["images"])}
    logits, first, second = model(batch["images"])
    return {"logits": logits, "aux1_logits": first, "aux2_logits": second}


def loss(outputs: Mapping[str, Tensor], batch: Mapping[str, Tensor]) -> Tensor:
    main = F.nn.cross_entropy(outputs["logits"], batch["labels"])
    first = F.nn.cross_entropy(outputs["aux1_logits"], batch["labels"])
    second = F.nn.cross_entropy(outputs["aux2_logits"], batch["labels"])
    return main + (first + second) * AUXILIARY_WEIGHT
