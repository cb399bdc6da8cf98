"""ShuffleNetV2 (Ma et al. 2018, arXiv:1807.11164).

Reference implementation: torchvision.models.shufflenetv2. A block of stride 1 leaves the first
half of the channels as they are; halves are concatenated and their channels interleaved.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mbench.contract.compat import zipped
from mbench.workloads.images import NORMED_RATE, Convolution, ImageWorkload, Linear, Norm, windows

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MODELS", "ShuffleNetConfig", "ShuffleNetWorkload", "Unit"]


@dataclass(frozen=True)
class Unit:
    """A block whose halves have `half` output channels each.

    With a stride of 2, both halves take all `inputs`; with 1, only the second does anything.
    """

    name: str
    inputs: int
    half: int
    stride: int

    @property
    def taken(self) -> int:
        """Input channels of the second branch."""
        return self.inputs if self.stride > 1 else self.half


@dataclass(frozen=True, kw_only=True)
class ShuffleNetConfig:
    """Dimensions of a ShuffleNetV2: blocks and output channels of the stages 2, 3 and 4.

    Batch norm: epsilon 1e-5, 0.1 of each new statistic.
    """

    widths: tuple[int, ...]
    blocks: tuple[int, ...] = (4, 8, 4)
    stem: int = 24
    last: int = 1024
    classes: int = 1000
    image_size: int = 224
    epsilon: float = 1e-5
    momentum: float = 0.1

    def stages(self) -> Iterator[list[Unit]]:
        """The blocks of the stages 2, 3 and 4."""
        inputs = self.stem
        for stage, (blocks, width) in enumerate(zipped(self.blocks, self.widths), start=2):
            widths = [inputs] + [width] * (blocks - 1)
            yield [
                Unit(f"stage{stage}.{block}", taken, width // 2, 1 if block else 2)
                for block, taken in enumerate(widths)
            ]
            inputs = width

    def without_dropout(self) -> ShuffleNetConfig:
        return self


@dataclass(frozen=True, kw_only=True)
class ShuffleNetWorkload(ImageWorkload):
    family: str = "shufflenet"
    config: ShuffleNetConfig

    def layers(self) -> Iterator[Convolution | Norm | Linear]:
        config = self.config
        size = windows(config.image_size, 3, stride=2, padding=1)
        yield Convolution("conv1.0", 3, config.stem, 3, size * size)
        yield Norm("conv1.1", config.stem)
        size = windows(size, 3, stride=2, padding=1)
        for unit in itertools.chain.from_iterable(config.stages()):
            after = windows(size, 3, stride=unit.stride, padding=1)
            at, inputs, half = unit.name, unit.inputs, unit.half
            if unit.stride > 1:
                yield Convolution(f"{at}.branch1.0", inputs, inputs, 3, after**2, inputs)
                yield Norm(f"{at}.branch1.1", inputs)
                yield Convolution(f"{at}.branch1.2", inputs, half, 1, after**2)
                yield Norm(f"{at}.branch1.3", half)
            yield Convolution(f"{at}.branch2.0", unit.taken, half, 1, size**2)
            yield Norm(f"{at}.branch2.1", half)
            yield Convolution(f"{at}.branch2.3", half, half, 3, after**2, half)
            yield Norm(f"{at}.branch2.4", half)
            yield Convolution(f"{at}.branch2.5", half, half, 1, after**2)
            yield Norm(f"{at}.branch2.6", half)
            size = after
        yield Convolution("conv5.0", config.widths[-1], config.last, 1, size * size)
        yield Norm("conv5.1", config.last)
        yield Linear("fc", config.last, config.classes)


def model(width: str, config: ShuffleNetConfig) -> ShuffleNetWorkload:
    name = f"shufflenet_v2_x{width.replace('.', '_')}"
    return ShuffleNetWorkload(
        name=name,
        title=f"ShuffleNetV2 {width}x",
        config=config,
        # The last stage has a pixel for every 32 of the image. With four images of 64 pixels, batch
        # norm sees 16 values there, and fp32's rounding of them is 1e-2 of the third step's loss.
        proof={"batch_size": 8, "sizes": {"image_size": 96}, "learning_rate": NORMED_RATE},
    )


MODELS = {
    workload.name: workload
    for workload in (
        model("0.5", ShuffleNetConfig(widths=(48, 96, 192))),
        model("1.0", ShuffleNetConfig(widths=(116, 232, 464))),
        model("1.5", ShuffleNetConfig(widths=(176, 352, 704))),
        model("2.0", ShuffleNetConfig(widths=(244, 488, 976), last=2048)),
    )
}
