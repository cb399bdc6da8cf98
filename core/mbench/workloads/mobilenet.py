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

__all__ = ["MODELS", "MobileNetConfig", "MobileNetWorkload", "Stack"]


@dataclass(frozen=True)
class Stack:
    """Inverted residuals in a row; the first of them has the stride."""

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


@dataclass(frozen=True, kw_only=True)
class MobileNetWorkload(ImageWorkload):
    family: str = "mobilenet"
    config: MobileNetConfig

    def masks(self) -> dict[str, float]:
        return {"classifier.1.weight": self.config.dropout}

    def operations(self, batch_size: int, *, mode: str) -> list[str]:
        """But for dropout. A ReLU stands for each ReLU6."""
        config = self.config
        made, inputs = Operations(batch_size), config.stem
        side = made.convolution(3, config.image_size, inputs, 3, stride=2, norm=True, relu=True)
        for stack in config.stacks:
            for block in range(stack.repeats):
                stride, inner = 1 if block else stack.stride, inputs * stack.expansion
                if stack.expansion > 1:
                    made.convolution(inputs, side, inner, 1, norm=True, relu=True)
                side = made.convolution(
                    inner, side, inner, 3, stride=stride, groups=inner, norm=True, relu=True
                )
                made.convolution(inner, side, stack.outputs, 1, norm=True)
                if stride == 1 and inputs == stack.outputs:
                    made.sum(inputs, side)
                inputs = stack.outputs
        made.convolution(inputs, side, config.last, 1, norm=True, relu=True)
        made.found.append(f"op:mean_pool/{batch_size}x{config.last}x{side}x{side}")
        made.classifier((config.last, config.classes), mode=mode)
        return made.found

    def layers(self) -> Iterator[Convolution | Norm | Linear]:
        config = self.config
        size = windows(config.image_size, 3, stride=2, padding=1)
        yield Convolution("features.0.0", 3, config.stem, 3, size * size)
        yield Norm("features.0.1", config.stem)
        inputs, number = config.stem, 1
        for stack in config.stacks:
            for block in range(stack.repeats):
                stride = stack.stride if block == 0 else 1
                after = windows(size, 3, stride=stride, padding=1)
                yield from inverted_residual(
                    f"features.{number}.conv", inputs, stack, stride, size * size, after * after
                )
                inputs, size, number = stack.outputs, after, number + 1
        yield Convolution(f"features.{number}.0", inputs, config.last, 1, size * size)
        yield Norm(f"features.{number}.1", config.last)
        yield Linear("classifier.1", config.last, config.classes)


def inverted_residual(
    at: str, inputs: int, stack: Stack, stride: int, before: int, after: int
) -> Iterator[Convolution | Norm]:
    """1x1 to more channels if there are to be more, depthwise 3x3, 1x1 to fewer."""
    inner, number = inputs * stack.expansion, 0
    if stack.expansion > 1:
        yield Convolution(f"{at}.0.0", inputs, inner, 1, before)
        yield Norm(f"{at}.0.1", inner)
        number = 1
    yield Convolution(f"{at}.{number}.0", inner, inner, 3, after, groups=inner)
    yield Norm(f"{at}.{number}.1", inner)
    yield Convolution(f"{at}.{number + 1}", inner, stack.outputs, 1, after)
    # A small gain before a sum keeps activations near 1 at any depth.
    summed = stride == 1 and inputs == stack.outputs
    yield Norm(f"{at}.{number + 2}", stack.outputs, 0.25 if summed else 1.0)


MODELS = {
    "mobilenet_v2": MobileNetWorkload(
        name="mobilenet_v2", title="MobileNetV2", config=MobileNetConfig()
    )
}
