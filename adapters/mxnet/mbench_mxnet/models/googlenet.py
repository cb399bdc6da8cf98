"""GoogLeNet in Gluon, with its auxiliary heads; names as in torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

# ruff: noqa: N803 (Gluon hands its operators over as F)

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mxnet import autograd, gluon
from mxnet.gluon import nn

from mbench.workloads.googlenet import AUXILIARY_SIDE, AUXILIARY_WEIGHT
from mbench_mxnet.layers import (
    AdaptiveAvgPool2D,
    NormedConvolution,
    cross_entropy,
    relu,
    sequence,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.workloads.googlenet import GoogLeNetConfig, Mixed

__all__ = ["build", "forward", "loss"]

POOLINGS = {"3a": 3, "4a": 3, "5a": 2}
"""Sizes of the max poolings that come before modules."""


class GoogLeNet(gluon.HybridBlock):
    def __init__(self, config: GoogLeNetConfig) -> None:
        super().__init__()
        self.conv1 = NormedConvolution(config, 3, 64, 7, strides=2)
        self.maxpool1 = nn.MaxPool2D(3, strides=2, ceil_mode=True)
        self.conv2 = NormedConvolution(config, 64, 64, 1)
        self.conv3 = NormedConvolution(config, 64, 192, 3)
        self.modules, self.poolings, self.heads = {}, {}, {}
        inputs = 192
        for module in config.modules:
            if module.name in POOLINGS:
                pooling = nn.MaxPool2D(POOLINGS[module.name], strides=2, ceil_mode=True)
                self.poolings[module.name] = pooling
                self.register_child(pooling, f"maxpool_before_{module.name}")
            self.modules[module.name] = Inception(config, inputs, module)
            self.register_child(self.modules[module.name], f"inception{module.name}")
            inputs = module.outputs
        for module in config.modules:
            if module.auxiliary:
                self.heads[module.name] = Auxiliary(config, module.outputs)
                self.register_child(self.heads[module.name], module.auxiliary)
        self.avgpool = nn.GlobalAvgPool2D()
        self.dropout = nn.Dropout(config.dropout)
        self.fc = nn.Dense(config.classes, in_units=inputs)

    def hybrid_forward(self, F: Any, images: Any) -> Any:
        """(B, 3, H, W) -> (B, K); in training a list of three, the auxiliary heads' behind."""
        x = self.conv3(self.conv2(self.maxpool1(self.conv1(images))))
        auxiliary = []
        for name, module in self.modules.items():
            if name in self.poolings:
                x = self.poolings[name](x)
            x = module(x)
            if name in self.heads and autograd.is_training():
                auxiliary.append(self.heads[name](x))
        logits = self.fc(self.dropout(self.avgpool(x)))
        return [logits, *auxiliary] if auxiliary else logits


class Inception(gluon.HybridBlock):
    """1x1, twice 1x1 before 3x3, and pooling before 1x1, concatenated."""

    def __init__(self, config: GoogLeNetConfig, inputs: int, module: Mixed) -> None:
        super().__init__()
        self.branch1 = NormedConvolution(config, inputs, module.single, 1)
        self.branch2 = sequence(
            NormedConvolution(config, inputs, module.reduce3, 1),
            NormedConvolution(config, module.reduce3, module.wide3, 3),
        )
        self.branch3 = sequence(
            NormedConvolution(config, inputs, module.reduce5, 1),
            NormedConvolution(config, module.reduce5, module.wide5, 3),
        )
        self.branch4 = sequence(
            nn.MaxPool2D(3, strides=1, padding=1),
            NormedConvolution(config, inputs, module.pooled, 1),
        )

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        branches = (self.branch1, self.branch2, self.branch3, self.branch4)
        return F.concat(*(branch(x) for branch in branches), dim=1)


class Auxiliary(gluon.HybridBlock):
    """A classifier on what is in the middle."""

    def __init__(self, config: GoogLeNetConfig, inputs: int) -> None:
        super().__init__()
        self.avgpool = AdaptiveAvgPool2D(AUXILIARY_SIDE)
        self.conv = NormedConvolution(config, inputs, 128, 1)
        self.fc1 = nn.Dense(1024, in_units=128 * AUXILIARY_SIDE**2)
        self.relu = relu()
        self.dropout = nn.Dropout(config.auxiliary_dropout)
        self.fc2 = nn.Dense(config.classes, in_units=1024)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """(B, C, H, W) -> (B, K)."""
        x = self.conv(self.avgpool(x))  # (B, 128, 4, 4)
        return self.fc2(self.dropout(self.relu(self.fc1(x))))


def build(config: GoogLeNetConfig) -> gluon.HybridBlock:
    return GoogLeNet(config)


def forward(model: gluon.HybridBlock, batch: Mapping[str, Any]) -> dict[str, Any]:
    """images (B, 3, H, W) -> logits (B, K); in training both auxiliary heads' too."""
    if not autograd.is_training():
        return {"logits": model(batch["images"])}
    logits, first, second = model(batch["images"])
    return {"logits": logits, "aux1_logits": first, "aux2_logits": second}


def loss(outputs: Mapping[str, Any], batch: Mapping[str, Any]) -> Any:
    main, first, second = (
        cross_entropy(outputs[name], batch["labels"])
        for name in ("logits", "aux1_logits", "aux2_logits")
    )
    return main + AUXILIARY_WEIGHT * (first + second)
