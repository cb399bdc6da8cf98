"""Inception v3 in Gluon, with its auxiliary head; names as in torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

# ruff: noqa: N803 (Gluon hands its operators over as F)

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mxnet import autograd, gluon
from mxnet.gluon import nn

from mbench.workloads.inception import AUXILIARY_WEIGHT, TALL, WIDE
from mbench_mxnet.layers import NormedConvolution, cross_entropy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.workloads.inception import InceptionConfig

__all__ = ["build", "forward", "loss"]


class Inception(gluon.HybridBlock):
    def __init__(self, config: InceptionConfig) -> None:
        super().__init__()
        before = {
            "Conv2d_1a_3x3": NormedConvolution(config, 3, 32, 3, strides=2, padding=0),
            "Conv2d_2a_3x3": NormedConvolution(config, 32, 32, 3, padding=0),
            "Conv2d_2b_3x3": NormedConvolution(config, 32, 64, 3),
            "maxpool1": nn.MaxPool2D(3, strides=2),
            "Conv2d_3b_1x1": NormedConvolution(config, 64, 80, 1),
            "Conv2d_4a_3x3": NormedConvolution(config, 80, 192, 3, padding=0),
            "maxpool2": nn.MaxPool2D(3, strides=2),
        }
        inputs = 192
        for letter, pooled in zip("bcd", config.pooled, strict=True):
            before[f"Mixed_5{letter}"] = ModuleA(config, inputs, pooled)
            inputs = 224 + pooled
        before["Mixed_6a"] = ModuleB(config, inputs)
        inputs += 480
        for letter, inner in zip("bcde", config.factorized, strict=True):
            before[f"Mixed_6{letter}"] = ModuleC(config, inputs, inner)
        auxiliary = Auxiliary(config, inputs)
        after = {"Mixed_7a": ModuleD(config, inputs)}
        inputs += 512
        for letter in "bc":
            after[f"Mixed_7{letter}"] = ModuleE(config, inputs)
            inputs = 2048
        for name, block in {**before, "AuxLogits": auxiliary, **after}.items():
            setattr(self, name, block)
        self.before, self.after = list(before.values()), list(after.values())
        self.avgpool = nn.GlobalAvgPool2D()
        self.dropout = nn.Dropout(config.dropout)
        self.fc = nn.Dense(config.classes, in_units=inputs)

    def hybrid_forward(self, F: Any, images: Any) -> Any:
        """(B, 3, H, W) -> (B, K); in training a list of two, the auxiliary head's behind."""
        x = images
        for block in self.before:
            x = block(x)
        auxiliary = [self.AuxLogits(x)] if autograd.is_training() else []
        for block in self.after:
            x = block(x)
        logits = self.fc(self.dropout(self.avgpool(x)))
        return [logits, *auxiliary] if auxiliary else logits


class ModuleA(gluon.HybridBlock):
    def __init__(self, config: InceptionConfig, inputs: int, pooled: int) -> None:
        super().__init__()
        self.branch1x1 = NormedConvolution(config, inputs, 64, 1)
        self.branch5x5_1 = NormedConvolution(config, inputs, 48, 1)
        self.branch5x5_2 = NormedConvolution(config, 48, 64, 5)
        self.branch3x3dbl_1 = NormedConvolution(config, inputs, 64, 1)
        self.branch3x3dbl_2 = NormedConvolution(config, 64, 96, 3)
        self.branch3x3dbl_3 = NormedConvolution(config, 96, 96, 3)
        self.pool = averaging()
        self.branch_pool = NormedConvolution(config, inputs, pooled, 1)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        single = self.branch1x1(x)
        wide = self.branch5x5_2(self.branch5x5_1(x))
        double = self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x)))
        return F.concat(single, wide, double, self.branch_pool(self.pool(x)), dim=1)


class ModuleB(gluon.HybridBlock):
    """Halves height and width."""

    def __init__(self, config: InceptionConfig, inputs: int) -> None:
        super().__init__()
        self.branch3x3 = NormedConvolution(config, inputs, 384, 3, strides=2, padding=0)
        self.branch3x3dbl_1 = NormedConvolution(config, inputs, 64, 1)
        self.branch3x3dbl_2 = NormedConvolution(config, 64, 96, 3)
        self.branch3x3dbl_3 = NormedConvolution(config, 96, 96, 3, strides=2, padding=0)
        self.pool = nn.MaxPool2D(3, strides=2)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        double = self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x)))
        return F.concat(self.branch3x3(x), double, self.pool(x), dim=1)


class ModuleC(gluon.HybridBlock):
    """7x7 as 1x7 and 7x1."""

    def __init__(self, config: InceptionConfig, inputs: int, inner: int) -> None:
        super().__init__()
        self.branch1x1 = NormedConvolution(config, inputs, 192, 1)
        self.branch7x7_1 = NormedConvolution(config, inputs, inner, 1)
        self.branch7x7_2 = NormedConvolution(config, inner, inner, WIDE)
        self.branch7x7_3 = NormedConvolution(config, inner, 192, TALL)
        self.branch7x7dbl_1 = NormedConvolution(config, inputs, inner, 1)
        self.branch7x7dbl_2 = NormedConvolution(config, inner, inner, TALL)
        self.branch7x7dbl_3 = NormedConvolution(config, inner, inner, WIDE)
        self.branch7x7dbl_4 = NormedConvolution(config, inner, inner, TALL)
        self.branch7x7dbl_5 = NormedConvolution(config, inner, 192, WIDE)
        self.pool = averaging()
        self.branch_pool = NormedConvolution(config, inputs, 192, 1)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        single = self.branch1x1(x)
        wide = self.branch7x7_3(self.branch7x7_2(self.branch7x7_1(x)))
        double = self.branch7x7dbl_3(self.branch7x7dbl_2(self.branch7x7dbl_1(x)))
        double = self.branch7x7dbl_5(self.branch7x7dbl_4(double))
        return F.concat(single, wide, double, self.branch_pool(self.pool(x)), dim=1)


class ModuleD(gluon.HybridBlock):
    """Halves height and width."""

    def __init__(self, config: InceptionConfig, inputs: int) -> None:
        super().__init__()
        self.branch3x3_1 = NormedConvolution(config, inputs, 192, 1)
        self.branch3x3_2 = NormedConvolution(config, 192, 320, 3, strides=2, padding=0)
        self.branch7x7x3_1 = NormedConvolution(config, inputs, 192, 1)
        self.branch7x7x3_2 = NormedConvolution(config, 192, 192, WIDE)
        self.branch7x7x3_3 = NormedConvolution(config, 192, 192, TALL)
        self.branch7x7x3_4 = NormedConvolution(config, 192, 192, 3, strides=2, padding=0)
        self.pool = nn.MaxPool2D(3, strides=2)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        small = self.branch3x3_2(self.branch3x3_1(x))
        wide = self.branch7x7x3_3(self.branch7x7x3_2(self.branch7x7x3_1(x)))
        return F.concat(small, self.branch7x7x3_4(wide), self.pool(x), dim=1)


class ModuleE(gluon.HybridBlock):
    """Two branches end in a 1x3 and a 3x1 convolution side by side."""

    def __init__(self, config: InceptionConfig, inputs: int) -> None:
        super().__init__()
        self.branch1x1 = NormedConvolution(config, inputs, 320, 1)
        self.branch3x3_1 = NormedConvolution(config, inputs, 384, 1)
        self.branch3x3_2a = NormedConvolution(config, 384, 384, (1, 3))
        self.branch3x3_2b = NormedConvolution(config, 384, 384, (3, 1))
        self.branch3x3dbl_1 = NormedConvolution(config, inputs, 448, 1)
        self.branch3x3dbl_2 = NormedConvolution(config, 448, 384, 3)
        self.branch3x3dbl_3a = NormedConvolution(config, 384, 384, (1, 3))
        self.branch3x3dbl_3b = NormedConvolution(config, 384, 384, (3, 1))
        self.pool = averaging()
        self.branch_pool = NormedConvolution(config, inputs, 192, 1)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        small = self.branch3x3_1(x)
        double = self.branch3x3dbl_2(self.branch3x3dbl_1(x))
        return F.concat(
            self.branch1x1(x),
            self.branch3x3_2a(small),
            self.branch3x3_2b(small),
            self.branch3x3dbl_3a(double),
            self.branch3x3dbl_3b(double),
            self.branch_pool(self.pool(x)),
            dim=1,
        )


class Auxiliary(gluon.HybridBlock):
    """A classifier on what is in the middle."""

    def __init__(self, config: InceptionConfig, inputs: int) -> None:
        super().__init__()
        self.pool = nn.AvgPool2D(5, strides=3)
        self.conv0 = NormedConvolution(config, inputs, 128, 1)
        self.conv1 = NormedConvolution(config, 128, 768, 5, padding=0)
        self.avgpool = nn.GlobalAvgPool2D()
        self.fc = nn.Dense(config.classes, in_units=768)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """(B, C, H, W) -> (B, K)."""
        x = self.conv1(self.conv0(self.pool(x)))  # (B, 768, 1, 1) of images of 299 pixels
        return self.fc(self.avgpool(x))


def averaging() -> nn.AvgPool2D:
    """Keeps height and width; the zeros of its padding count."""
    return nn.AvgPool2D(3, strides=1, padding=1)


def build(config: InceptionConfig) -> gluon.HybridBlock:
    return Inception(config)


def forward(model: gluon.HybridBlock, batch: Mapping[str, Any]) -> dict[str, Any]:
    """images (B, 3, H, W) -> logits (B, K); in training the auxiliary head's too."""
    if not autograd.is_training():
        return {"logits": model(batch["images"])}
    logits, auxiliary = model(batch["images"])
    return {"logits": logits, "aux_logits": auxiliary}


def loss(outputs: Mapping[str, Any], batch: Mapping[str, Any]) -> Any:
    main, auxiliary = (
        cross_entropy(outputs[name], batch["labels"]) for name in ("logits", "aux_logits")
    )
    return main + AUXILIARY_WEIGHT * auxiliary
