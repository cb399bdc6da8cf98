"""MnasNet-B1 (Tan et al. 2019, arXiv:1807.11626).

Reference implementation: torchvision.models.mnasnet.
"""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mbench.workloads.images import Convolution, ImageWorkload, Linear, Norm, windows
from mbench.workloads.mobilenet import InvertedResidual

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MODELS", "MnasNetConfig", "MnasNetWorkload", "Stack"]

LAST = 1280


@dataclass(frozen=True)
class Stack:
    """Inverted residuals in sequence; the first has the stride and no shortcut."""

    outputs: int
    kernel: int
    stride: int
    expansion: int
    repeats: int


STACKS = (
    Stack(24, 3, 2, 3, 3),
    Stack(40, 5, 2, 3, 3),
    Stack(80, 5, 2, 6, 3),
    Stack(96, 3, 1, 6, 2),
    Stack(192, 5, 2, 6, 4),
    Stack(320, 3, 1, 6, 1),
)


@dataclass(frozen=True, kw_only=True)
class MnasNetConfig:
    """Dimensions of an MnasNet at `width` times the channels of MnasNet 1.0.

    Batch norm: epsilon 1e-5, 0.0003 of each new statistic (0.9997 of the old one).
    """

    width: float = 1.0
    dropout: float = 0.2
    classes: int = 1000
    image_size: int = 224
    epsilon: float = 1e-5
    momentum: float = 1 - 0.9997

    @property
    def stem(self) -> int:
        return scaled(32, self.width)

    @property
    def separable(self) -> int:
        """Outputs of the separable convolution after the stem."""
        return scaled(16, self.width)

    @property
    def stacks(self) -> tuple[Stack, ...]:
        return tuple(
            dataclasses.replace(stack, outputs=scaled(stack.outputs, self.width))
            for stack in STACKS
        )

    def stages(self) -> Iterator[list[InvertedResidual]]:
        """The blocks of each stack. In torchvision, eight layers come before the first."""
        inputs = self.separable
        for number, stack in enumerate(self.stacks, start=8):
            stage = []
            for block in range(stack.repeats):
                stride, inner = 1 if block else stack.stride, inputs * stack.expansion
                name = f"layers.{number}.{block}.layers"
                stage.append(
                    InvertedResidual(name, inputs, inner, stack.outputs, stack.kernel, stride)
                )
                inputs = stack.outputs
            yield stage

    def without_dropout(self) -> MnasNetConfig:
        return dataclasses.replace(self, dropout=0.0)


def scaled(channels: int, width: float) -> int:
    """`channels * width` rounded to a multiple of 8; up if rounding down loses over a tenth."""
    wanted = channels * width
    rounded = max(8, int(wanted + 4) // 8 * 8)
    return rounded if rounded >= 0.9 * wanted else rounded + 8


@dataclass(frozen=True, kw_only=True)
class MnasNetWorkload(ImageWorkload):
    family: str = "mnasnet"
    config: MnasNetConfig

    def masks(self) -> dict[str, float]:
        return {"classifier.1.weight": self.config.dropout}

    def layers(self) -> Iterator[Convolution | Norm | Linear]:
        """Layers are numbered as in torchvision, where ReLUs count too."""
        config = self.config
        stem, separable = config.stem, config.separable
        size = windows(config.image_size, 3, stride=2, padding=1)
        yield Convolution("layers.0", 3, stem, 3, size * size)
        yield Norm("layers.1", stem)
        yield Convolution("layers.3", stem, stem, 3, size * size, groups=stem)
        yield Norm("layers.4", stem)
        yield Convolution("layers.6", stem, separable, 1, size * size)
        yield Norm("layers.7", separable)
        inputs = separable
        for block in itertools.chain.from_iterable(config.stages()):
            after = windows(size, block.kernel, stride=block.stride, padding=block.kernel // 2)
            yield from inverted_residual(block, size * size, after * after)
            inputs, size = block.outputs, after
        yield Convolution("layers.14", inputs, LAST, 1, size * size)
        yield Norm("layers.15", LAST)
        yield Linear("classifier.1", LAST, config.classes)


def inverted_residual(
    block: InvertedResidual, before: int, after: int
) -> Iterator[Convolution | Norm]:
    """Layers of a block without a final ReLU. `before`, `after`: pixels of its input and output."""
    at, inner = block.name, block.inner
    yield Convolution(f"{at}.0", block.inputs, inner, 1, before)
    yield Norm(f"{at}.1", inner)
    yield Convolution(f"{at}.3", inner, inner, block.kernel, after, groups=inner)
    yield Norm(f"{at}.4", inner)
    yield Convolution(f"{at}.6", inner, block.outputs, 1, after)
    # A small gain before a sum keeps activations near 1 at any depth.
    yield Norm(f"{at}.7", block.outputs, 0.25 if block.inputs == block.outputs else 1.0)


MODELS = {
    workload.name: workload
    for workload in (
        MnasNetWorkload(
            name=f"mnasnet{width}".replace(".", "_"),
            title=f"MnasNet-B1 {width}",
            config=MnasNetConfig(width=width),
        )
        for width in (0.5, 0.75, 1.0, 1.3)
    )
}
