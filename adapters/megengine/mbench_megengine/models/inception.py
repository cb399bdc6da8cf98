"""Inception v3, with its auxiliary head; names as in torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from megengine import functional as F
from megengine import module as M

from mbench.contract.compat import zipped
from mbench.workloads.inception import AUXILIARY_WEIGHT, TALL, WIDE
from mbench_megengine.layers import AveragePool, BasicConv2d, Dropout, MaxPool, pixels

if TYPE_CHECKING:
    from collections.abc import Mapping

    from megengine import Tensor

    from mbench.workloads.inception import InceptionConfig

__all__ = ["build", "forward", "loss"]


class InceptionV3(M.Module):
    def __init__(self, config: InceptionConfig) -> None:
        super().__init__()
        conv = partial(BasicConv2d, config)
        self.Conv2d_1a_3x3 = conv(3, 32, 3, stride=2, padding=0)
        self.Conv2d_2a_3x3 = conv(32, 32, 3, padding=0)
        self.Conv2d_2b_3x3 = conv(32, 64, 3, padding=1)
        self.maxpool1 = MaxPool(3, stride=2)
        self.Conv2d_3b_1x1 = conv(64, 80, 1)
        self.Conv2d_4a_3x3 = conv(80, 192, 3, padding=0)
        self.maxpool2 = MaxPool(3, stride=2)
        first, second, third = config.pooled
        self.Mixed_5b = ModuleA(config, 192, first)
        self.Mixed_5c = ModuleA(config, 224 + first, second)
        self.Mixed_5d = ModuleA(config, 224 + second, third)
        self.Mixed_6a = ModuleB(config, 224 + third)
        inputs = 704 + third
        for letter, inner in zipped("bcde", config.factorized):
            setattr(self, f"Mixed_6{letter}", ModuleC(config, inputs, inner))
            inputs = 768
        self.AuxLogits = Auxiliary(config, inputs)
        self.Mixed_7a = ModuleD(config, inputs)
        self.Mixed_7b = ModuleE(config, 512 + inputs)
        self.Mixed_7c = ModuleE(config, 2048)
        self.dropout = Dropout(config.dropout)
        self.fc = M.Linear(2048, config.classes)

    def forward(self, images: Tensor) -> Tensor | tuple[Tensor, ...]:
        """(B, C, H, W) -> (B, K); in training also of the auxiliary head."""
        x = self.Conv2d_2b_3x3(self.Conv2d_2a_3x3(self.Conv2d_1a_3x3(images)))
        x = self.Conv2d_4a_3x3(self.Conv2d_3b_1x1(self.maxpool1(x)))
        x = self.Mixed_5d(self.Mixed_5c(self.Mixed_5b(self.maxpool2(x))))
        x = self.Mixed_6c(self.Mixed_6b(self.Mixed_6a(x)))
        x = self.Mixed_6e(self.Mixed_6d(x))
        auxiliary = self.AuxLogits(x) if self.training else None
        x = self.Mixed_7c(self.Mixed_7b(self.Mixed_7a(x)))
        logits = self.fc(self.dropout(pixels(x)))
        return (logits, auxiliary) if self.training else logits


class ModuleA(M.Module):
    def __init__(self, config: InceptionConfig, inputs: int, pooled: int) -> None:
        super().__init__()
        conv = partial(BasicConv2d, config)
        self.branch1x1 = conv(inputs, 64, 1)
        self.branch5x5_1 = conv(inputs, 48, 1)
        self.branch5x5_2 = conv(48, 64, 5, padding=2)
        self.branch3x3dbl_1 = conv(inputs, 64, 1)
        self.branch3x3dbl_2 = conv(64, 96, 3, padding=1)
        self.branch3x3dbl_3 = conv(96, 96, 3, padding=1)
        self.pool = AveragePool(3, padding=1)
        self.branch_pool = conv(inputs, pooled, 1)

    def forward(self, x: Tensor) -> Tensor:
        branches = [
            self.branch1x1(x),
            self.branch5x5_2(self.branch5x5_1(x)),
            self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x))),
            self.branch_pool(self.pool(x)),
        ]
        return F.concat(branches, axis=1)


class ModuleB(M.Module):
    """Halves height and width."""

    def __init__(self, config: InceptionConfig, inputs: int) -> None:
        super().__init__()
        conv = partial(BasicConv2d, config)
        self.max_pool = MaxPool(3)
        self.branch3x3 = conv(inputs, 384, 3, stride=2, padding=0)
        self.branch3x3dbl_1 = conv(inputs, 64, 1)
        self.branch3x3dbl_2 = conv(64, 96, 3, padding=1)
        self.branch3x3dbl_3 = conv(96, 96, 3, stride=2, padding=0)

    def forward(self, x: Tensor) -> Tensor:
        branches = [
            self.branch3x3(x),
            self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x))),
            self.max_pool(x),
        ]
        return F.concat(branches, axis=1)


class ModuleC(M.Module):
    """A 7x7 convolution factorized into 1x7 and 7x1, with `inner` channels between."""

    def __init__(self, config: InceptionConfig, inputs: int, inner: int) -> None:
        super().__init__()
        conv = partial(BasicConv2d, config)
        wide = partial(conv, kernel=WIDE, padding=(0, 3))
        tall = partial(conv, kernel=TALL, padding=(3, 0))
        self.branch1x1 = conv(inputs, 192, 1)
        self.branch7x7_1 = conv(inputs, inner, 1)
        self.branch7x7_2 = wide(inner, inner)
        self.branch7x7_3 = tall(inner, 192)
        self.branch7x7dbl_1 = conv(inputs, inner, 1)
        self.branch7x7dbl_2 = tall(inner, inner)
        self.branch7x7dbl_3 = wide(inner, inner)
        self.branch7x7dbl_4 = tall(inner, inner)
        self.branch7x7dbl_5 = wide(inner, 192)
        self.pool = AveragePool(3, padding=1)
        self.branch_pool = conv(inputs, 192, 1)

    def forward(self, x: Tensor) -> Tensor:
        double = self.branch7x7dbl_3(self.branch7x7dbl_2(self.branch7x7dbl_1(x)))
        branches = [
            self.branch1x1(x),
            self.branch7x7_3(self.branch7x7_2(self.branch7x7_1(x))),
            self.branch7x7dbl_5(self.branch7x7dbl_4(double)),
            self.branch_pool(self.pool(x)),
        ]
        return F.concat(branches, axis=1)


class ModuleD(M.Module):
    """Halves height and width."""

    def __init__(self, config: InceptionConfig, inputs: int) -> None:
        super().__init__()
        conv = partial(BasicConv2d, config)
        self.max_pool = MaxPool(3)
        self.branch3x3_1 = conv(inputs, 192, 1)
        self.branch3x3_2 = conv(192, 320, 3, stride=2, padding=0)
        self.branch7x7x3_1 = conv(inputs, 192, 1)
        self.branch7x7x3_2 = conv(192, 192, WIDE, padding=(0, 3))
        self.branch7x7x3_3 = conv(192, 192, TALL, padding=(3, 0))
        self.branch7x7x3_4 = conv(192, 192, 3, stride=2, padding=0)

    def forward(self, x: Tensor) -> Tensor:
        factorized = self.branch7x7x3_3(self.branch7x7x3_2(self.branch7x7x3_1(x)))
        branches = [
            self.branch3x3_2(self.branch3x3_1(x)),
            self.branch7x7x3_4(factorized),
            self.max_pool(x),
        ]
        return F.concat(branches, axis=1)


class ModuleE(M.Module):
    """Two branches end in a 1x3 and a 3x1 convolution side by side."""

    def __init__(self, config: InceptionConfig, inputs: int) -> None:
        super().__init__()
        conv = partial(BasicConv2d, config)
        wide = partial(conv, 384, 384, (1, 3), padding=(0, 1))
        tall = partial(conv, 384, 384, (3, 1), padding=(1, 0))
        self.branch1x1 = conv(inputs, 320, 1)
        self.branch3x3_1 = conv(inputs, 384, 1)
        self.branch3x3_2a = wide()
        self.branch3x3_2b = tall()
        self.branch3x3dbl_1 = conv(inputs, 448, 1)
        self.branch3x3dbl_2 = conv(448, 384, 3, padding=1)
        self.branch3x3dbl_3a = wide()
        self.branch3x3dbl_3b = tall()
        self.pool = AveragePool(3, padding=1)
        self.branch_pool = conv(inputs, 192, 1)

    def forward(self, x: Tensor) -> Tensor:
        single = self.branch3x3_1(x)
        double = self.branch3x3dbl_2(self.branch3x3dbl_1(x))
        branches = [
            self.branch1x1(x),
            self.branch3x3_2a(single),
            self.branch3x3_2b(single),
            self.branch3x3dbl_3a(double),
            self.branch3x3dbl_3b(double),
            self.branch_pool(self.pool(x)),
        ]
        return F.concat(branches, axis=1)


class Auxiliary(M.Module):
    def __init__(self, config: InceptionConfig, inputs: int) -> None:
        super().__init__()
        self.pool = AveragePool(5, stride=3)
        self.conv0 = BasicConv2d(config, inputs, 128, 1)
        self.conv1 = BasicConv2d(config, 128, 768, 5, padding=0)
        self.fc = M.Linear(768, config.classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv1(self.conv0(self.pool(x)))
        return self.fc(pixels(x))


def build(config: InceptionConfig) -> M.Module:
    return InceptionV3(config)


def forward(model: M.Module, batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """images (B, C, H, W) -> logits (B, K); in training the auxiliary head's too."""
    if not model.training:
        return {"logits": model(batch["images"])}
    logits, auxiliary = model(batch["images"])
    return {"logits": logits, "aux_logits": auxiliary}


def loss(outputs: Mapping[str, Tensor], batch: Mapping[str, Tensor]) -> Tensor:
    main = F.nn.cross_entropy(outputs["logits"], batch["labels"])
    auxiliary = F.nn.cross_entropy(outputs["aux_logits"], batch["labels"])
    return main + auxiliary * AUXILIARY_WEIGHT
