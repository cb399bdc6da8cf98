"""MobileNetV2 (Sandler et al. 2018, arXiv:1801.04381).

Reference implementation: torchvision.models.mobilenetv2. Activations are ReLU6.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mbench.workloads.images import Convolution, ImageWorkload, Linear, Norm, Operations, windows

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MODELS", "InvertedResidual", "MobileNetConfig", "MobileNetWorkload", "Stack"]


@dataclass(frozen=True)
class InvertedResidual:
    """A 1x1 convolution to `inner` channels, a depthwise one, and a 1x1 to `outputs`."""

    name: str
    inputs: int
    inner: int
    outputs: int
    kernel: int
    stride: int

    @property
    def expands(self) -> bool:
        """Whether `inner` is larger than `inputs`; otherwise MobileNetV2 omits the first 1x1."""
        return self.inner > self.inputs

    @property
    def summed(self) -> bool:
        """Whether its input is added to its output, which then has the same shape."""
        return self.stride == 1 and self.inputs == self.outputs


@dataclass(frozen=True)
class Stack:
    """Inverted residuals in sequence; the first has the stride."""

    expansion: int
    outputs: int
    repeats: int
    stride: int


@dataclass(frozen=True, kw_only=True)
class MobileNetConfig:
    """Dimensions of MobileNetV2. Batch norm: epsilon 1e-5, 0.1 of each new statistic."""

    stem: int = 32
    stacks: tuple[Stack, ...] = (
        Stack(1, 16, 1, 1),
        Stack(6, 24, 2, 2),
        Stack(6, 32, 3, 2),
        Stack(6, 64, 4, 2),
        Stack(6, 96, 3, 1),
        Stack(6, 160, 3, 2),
        Stack(6, 320, 1, 1),
    )
    last: int = 1280
    dropout: float = 0.2
    classes: int = 1000
    image_size: int = 224
    epsilon: float = 1e-5
    momentum: float = 0.1

    def without_dropout(self) -> MobileNetConfig:
        return dataclasses.replace(self, dropout=0.0)

    def blocks(self) -> Iterator[InvertedResidual]:
        """Numbered from 1: the first convolution is "features.0"."""
        inputs, number = self.stem, 1
        for stack in self.stacks:
            for block in range(stack.repeats):
                stride, inner = 1 if block else stack.stride, inputs * stack.expansion
                name = f"features.{number}.conv"
                yield InvertedResidual(name, inputs, inner, stack.outputs, 3, stride)
                inputs, number = stack.outputs, number + 1

    @property
    def last_name(self) -> str:
        """Name of the last convolution, which comes after all blocks."""
        return f"features.{1 + sum(stack.repeats for stack in self.stacks)}"


@dataclass(frozen=True, kw_only=True)
class MobileNetWorkload(ImageWorkload):
    family: str = "mobilenet"
    config: MobileNetConfig

    def masks(self) -> dict[str, float]:
        return {"classifier.1.weight": self.config.dropout}

    def operations(self, batch_size: int, *, training: bool) -> list[str]:
        """Leaves out dropout. A ReLU stands for each ReLU6."""
        config = self.config
        made, inputs = Operations(batch_size), config.stem
        side = made.convolution(3, config.image_size, inputs, 3, stride=2, norm=True, relu=True)
        for block in config.blocks():
            inner = block.inner
            if block.expands:
                made.convolution(block.inputs, side, inner, 1, norm=True, relu=True)
            side = made.convolution(
                inner, side, inner, 3, stride=block.stride, groups=inner, norm=True, relu=True
            )
            made.convolution(inner, side, block.outputs, 1, norm=True)
            if block.summed:
                made.sum(block.inputs, side)
            inputs = block.outputs
        made.convolution(inputs, side, config.last, 1, norm=True, relu=True)
        made.found.append(f"op:mean_pool/{batch_size}x{config.last}x{side}x{side}")
        made.classifier((config.last, config.classes), training=training)
        return made.found

    def layers(self) -> Iterator[Convolution | Norm | Linear]:
        config = self.config
        size = windows(config.image_size, 3, stride=2, padding=1)
        yield Convolution("features.0.0", 3, config.stem, 3, size * size)
        yield Norm("features.0.1", config.stem)
        inputs = config.stem
        for block in config.blocks():
            after = windows(size, 3, stride=block.stride, padding=1)
            yield from inverted_residual(block, size * size, after * after)
            inputs, size = block.outputs, after
        yield Convolution(f"{config.last_name}.0", inputs, config.last, 1, size * size)
        yield Norm(f"{config.last_name}.1", config.last)
        yield Linear("classifier.1", config.last, config.classes)


def inverted_residual(
    block: InvertedResidual, before: int, after: int
) -> Iterator[Convolution | Norm]:
    """Layers of a block; `before` and `after` are the pixels of its input and output."""
    at, inner, number = block.name, block.inner, 0
    if block.expands:
        yield Convolution(f"{at}.0.0", block.inputs, inner, 1, before)
        yield Norm(f"{at}.0.1", inner)
        number = 1
    yield Convolution(f"{at}.{number}.0", inner, inner, 3, after, groups=inner)
    yield Norm(f"{at}.{number}.1", inner)
    yield Convolution(f"{at}.{number + 1}", inner, block.outputs, 1, after)
    # A small gain before a sum keeps activations near 1 at any depth.
    yield Norm(f"{at}.{number + 2}", block.outputs, 0.25 if block.summed else 1.0)


MODELS = {
    "mobilenet_v2": MobileNetWorkload(
        name="mobilenet_v2", title="MobileNetV2", config=MobileNetConfig()
    )
}
