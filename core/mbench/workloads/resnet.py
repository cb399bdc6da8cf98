"""ResNet and its wide and grouped variants.

He et al. 2016 (arXiv:1512.03385); ResNeXt: Xie et al. 2017 (arXiv:1611.05431); wide: Zagoruyko
and Komodakis 2016 (arXiv:1605.07146). Reference implementation: torchvision.models.resnet, which
is "v1.5": a bottleneck's stride is in the 3x3 convolution. The paper's v1 has it in the first 1x1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mbench.contract.compat import zipped
from mbench.workloads.images import (
    Convolution,
    ImageWorkload,
    Linear,
    Norm,
    Operations,
    windows,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mbench.contract.workload import Workload

__all__ = ["MODELS", "RESNET50", "ResNetConfig", "ResNetWorkload"]


@dataclass(frozen=True, kw_only=True)
class ResNetConfig:
    """Dimensions of a ResNet. Batch norm: epsilon 1e-5, 0.1 of each new statistic.

    `bottleneck`: a block is a 1x1, a 3x3 and a 1x1 convolution; otherwise two of 3x3. The 3x3 of
    a bottleneck has `groups` groups, each of `group_width` channels in the first stage.
    `stride_first`: a bottleneck's stride is in its first convolution (v1).
    """

    blocks: tuple[int, ...] = (3, 4, 6, 3)
    widths: tuple[int, ...] = (64, 128, 256, 512)
    bottleneck: bool = True
    groups: int = 1
    group_width: int = 64
    stride_first: bool = False
    stem: int = 64
    classes: int = 1000
    image_size: int = 224
    epsilon: float = 1e-5
    momentum: float = 0.1

    @property
    def expansion(self) -> int:
        """Output channels of a block, in multiples of its stage's width."""
        return 4 if self.bottleneck else 1

    def inner(self, width: int) -> int:
        """Channels of the 3x3 convolution of a bottleneck in a stage of `width`."""
        return width * self.group_width // 64 * self.groups

    def without_dropout(self) -> ResNetConfig:
        return self


PARTLY_LENGTHENED = 16
"""Models with at most this many blocks are also lengthened by half a stage: reference files of
deeper ones are large."""


@dataclass(frozen=True, kw_only=True)
class ResNetWorkload(ImageWorkload):
    family: str = "resnet"
    config: ResNetConfig

    def layers(self) -> Iterator[Convolution | Norm | Linear]:
        """A block's shortcut comes last."""
        config = self.config
        size = math.ceil(config.image_size / 2)
        yield Convolution("conv1", 3, config.stem, 7, size * size)
        yield Norm("bn1", config.stem)
        size = math.ceil(size / 2)
        inputs = config.stem
        for stage, (blocks, width) in enumerate(zipped(config.blocks, config.widths), start=1):
            for block in range(blocks):
                stride = 2 if stage > 1 and block == 0 else 1
                yield from self.block(f"layer{stage}.{block}", inputs, width, size, stride)
                inputs, size = width * config.expansion, math.ceil(size / stride)
        yield Linear("fc", inputs, config.classes)

    def operations(self, batch_size: int, *, training: bool) -> list[str]:
        config = self.config
        side, inputs = config.image_size, config.stem
        made = Operations(batch_size)
        side = made.convolution(3, side, config.stem, 7, stride=2, norm=True, relu=True)
        made.found.append(f"op:max_pool/{batch_size}x{inputs}x{side}x{side}-k3-s2-p1")
        side = windows(side, 3, stride=2, padding=1)
        for stage, (blocks, width) in enumerate(zipped(config.blocks, config.widths)):
            for block in range(blocks):
                stride = 2 if stage and not block else 1
                outputs = width * config.expansion
                if stride > 1 or inputs != outputs:
                    made.convolution(inputs, side, outputs, 1, stride=stride, norm=True)
                side = self.operations_of_block(made, inputs, width, side, stride)
                made.sum(outputs, side)
                inputs = outputs
        made.found.append(f"op:mean_pool/{batch_size}x{inputs}x{side}x{side}")
        made.classifier((inputs, config.classes), training=training)
        return made.found

    def lengthened(self) -> dict[str, Workload]:
        """An added block has no convolution in its shortcut, and stride 1."""
        blocks, found = self.config.blocks, {}
        for at, stage in enumerate(self.stages):

            def dimensions(more: int, at: int = at) -> dict[str, object]:
                return {"blocks": (*blocks[:at], blocks[at] + more, *blocks[at + 1 :])}

            partly = sum(blocks) <= PARTLY_LENGTHENED
            found.update(self.forms(stage, blocks[at], dimensions, partly=partly))
        return found

    def operations_of_block(
        self, made: Operations, inputs: int, width: int, side: int, stride: int
    ) -> int:
        """Adds a block's operations, with the ReLU after the sum; returns pixels per side."""
        config = self.config
        outputs, inner = width * config.expansion, config.inner(width)
        if not config.bottleneck:
            side = made.convolution(inputs, side, width, 3, stride=stride, norm=True, relu=True)
            return made.convolution(width, side, width, 3, norm=True, relu=True)
        first, second = (stride, 1) if config.stride_first else (1, stride)
        side = made.convolution(inputs, side, inner, 1, stride=first, norm=True, relu=True)
        side = made.convolution(
            inner, side, inner, 3, stride=second, groups=config.groups, norm=True, relu=True
        )
        return made.convolution(inner, side, outputs, 1, norm=True, relu=True)

    def block(
        self, at: str, inputs: int, width: int, size: int, stride: int
    ) -> Iterator[Convolution | Norm]:
        """Layers of a block whose input has `inputs` channels of `size` pixels per side."""
        config = self.config
        outputs, inner = width * config.expansion, config.inner(width)
        after = math.ceil(size / stride) ** 2
        if config.bottleneck:
            before = after if config.stride_first else size * size
            yield Convolution(f"{at}.conv1", inputs, inner, 1, before)
            yield Norm(f"{at}.bn1", inner)
            yield Convolution(f"{at}.conv2", inner, inner, 3, after, config.groups)
            yield Norm(f"{at}.bn2", inner)
            yield Convolution(f"{at}.conv3", inner, outputs, 1, after)
        else:
            yield Convolution(f"{at}.conv1", inputs, width, 3, after)
            yield Norm(f"{at}.bn1", width)
            yield Convolution(f"{at}.conv2", width, width, 3, after)
        # A small gain on the last norm of a block keeps activations near 1 at any depth.
        yield Norm(f"{at}.bn{3 if config.bottleneck else 2}", outputs, 0.25)
        if stride > 1 or inputs != outputs:
            yield Convolution(f"{at}.downsample.0", inputs, outputs, 1, after)
            yield Norm(f"{at}.downsample.1", outputs)


DEPTHS = {
    10: ResNetConfig(blocks=(1, 1, 1, 1), bottleneck=False),
    18: ResNetConfig(blocks=(2, 2, 2, 2), bottleneck=False),
    34: ResNetConfig(blocks=(3, 4, 6, 3), bottleneck=False),
    50: ResNetConfig(blocks=(3, 4, 6, 3)),
    101: ResNetConfig(blocks=(3, 4, 23, 3)),
    152: ResNetConfig(blocks=(3, 8, 36, 3)),
}


PAPERS = 18
"""Layers of the paper's shallowest model. The model with fewer is for adapter authors."""


def model(name: str, title: str, depth: int, **changes: Any) -> ResNetWorkload:
    """Only the paper's depths, without `changes`, can be lengthened: reference files are large."""
    config = replace(DEPTHS[depth], **changes)
    plain = depth >= PAPERS and not changes
    stages = tuple(f"layer{at + 1}" for at in range(len(config.blocks))) if plain else ()
    return ResNetWorkload(name=name, title=title, config=config, stages=stages)


MODELS = {
    workload.name: workload
    for workload in (
        model("resnet10", "ResNet-10", 10),
        model("resnet18", "ResNet-18", 18),
        model("resnet34", "ResNet-34", 34),
        model("resnet50", "ResNet-50 v1.5", 50),
        model("resnet50_v1", "ResNet-50 v1", 50, stride_first=True),
        model("resnet101", "ResNet-101 v1.5", 101),
        model("resnet152", "ResNet-152 v1.5", 152),
        model("resnext50_32x4d", "ResNeXt-50 32x4d", 50, groups=32, group_width=4),
        model("resnext101_32x8d", "ResNeXt-101 32x8d", 101, groups=32, group_width=8),
        model("wide_resnet50_2", "Wide ResNet-50-2", 50, group_width=128),
        model("wide_resnet101_2", "Wide ResNet-101-2", 101, group_width=128),
    )
}
RESNET50 = MODELS["resnet50"]
