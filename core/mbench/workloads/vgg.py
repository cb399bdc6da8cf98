"""VGG (Simonyan and Zisserman 2015, arXiv:1409.1556), as published and with batch norm.

Reference implementation: torchvision.models.vgg. Convolutions have biases, even before a batch
norm, where their gradients are zero in theory. Between features and classifier, pixels are
averaged over 7 x 7 regions. At 224 pixels there are exactly that many, so nothing changes; with
fewer pixels, one that falls into several regions counts in each.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mbench.contract.compat import zipped
from mbench.workloads.images import BARE_RATE, Convolution, ImageWorkload, Linear, Norm, Operations

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MODELS", "VGGConfig", "VGGWorkload"]

POOLED = 7
HIDDEN = 4096


@dataclass(frozen=True, kw_only=True)
class VGGConfig:
    """Dimensions of a VGG: 3x3 convolutions per stage, and each stage's width. A stage ends in 2x2
    max pooling. Batch norm, if any: epsilon 1e-5, 0.1 of each new statistic.
    """

    blocks: tuple[int, ...]
    widths: tuple[int, ...] = (64, 128, 256, 512, 512)
    batch_norm: bool = False
    dropout: float = 0.5
    classes: int = 1000
    image_size: int = 224
    epsilon: float = 1e-5
    momentum: float = 0.1

    def without_dropout(self) -> VGGConfig:
        return dataclasses.replace(self, dropout=0.0)


@dataclass(frozen=True, kw_only=True)
class VGGWorkload(ImageWorkload):
    family: str = "vgg"
    config: VGGConfig

    def masks(self) -> dict[str, float]:
        return {"classifier.3.weight": self.config.dropout}

    def operations(self, batch_size: int, *, training: bool) -> list[str]:
        """Leaves out dropout, convolution biases, and averaging over regions, a no-op at 224."""
        config = self.config
        made, inputs, side = Operations(batch_size), 3, config.image_size
        for blocks, width in zipped(config.blocks, config.widths):
            for _ in range(blocks):
                made.convolution(inputs, side, width, 3, norm=config.batch_norm, relu=True)
                inputs = width
            side = made.max_pool(width, side, 2, stride=2)
        made.classifier((inputs * POOLED**2, HIDDEN, HIDDEN, config.classes), training=training)
        return made.found

    def layers(self) -> Iterator[Convolution | Norm | Linear]:
        """Layers are numbered as in torchvision, where ReLUs and pooling count too."""
        config = self.config
        at, inputs, size = 0, 3, config.image_size
        for blocks, width in zipped(config.blocks, config.widths):
            for _ in range(blocks):
                yield Convolution(f"features.{at}", inputs, width, 3, size * size, bias=True)
                if config.batch_norm:
                    yield Norm(f"features.{at + 1}", width)
                at += 3 if config.batch_norm else 2
                inputs = width
            at += 1
            size //= 2
        yield Linear("classifier.0", inputs * POOLED**2, HIDDEN)
        yield Linear("classifier.3", HIDDEN, HIDDEN)
        yield Linear("classifier.6", HIDDEN, config.classes)


BLOCKS = {
    11: (1, 1, 2, 2, 2),
    13: (2, 2, 2, 2, 2),
    16: (2, 2, 3, 3, 3),
    19: (2, 2, 4, 4, 4),
}

MODELS = {
    workload.name: workload
    for depth, blocks in BLOCKS.items()
    for workload in (
        VGGWorkload(
            name=f"vgg{depth}",
            title=f"VGG-{depth}",
            config=VGGConfig(blocks=blocks),
            proof={"batch_size": 4, "sizes": {"image_size": 64}, "learning_rate": BARE_RATE},
        ),
        VGGWorkload(
            name=f"vgg{depth}_bn",
            title=f"VGG-{depth} with batch norm",
            config=VGGConfig(blocks=blocks, batch_norm=True),
        ),
    )
}
