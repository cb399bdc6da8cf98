"""SqueezeNet (Iandola et al. 2016, arXiv:1602.07360), versions 1.0 and 1.1.

Reference implementation: torchvision.models.squeezenet. Its 3x3 max pooling of stride 2 lets the
last window extend past the edge. The classifier is a 1x1 convolution, a ReLU and the mean over all
pixels.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mbench.workloads.images import BARE_RATE, Convolution, ImageWorkload, Linear, Norm, windows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mbench.contract.workload import ProofFields

__all__ = ["MODELS", "Fire", "SqueezeNetConfig", "SqueezeNetWorkload"]


@dataclass(frozen=True)
class Fire:
    """A 1x1 convolution to `squeeze` channels; a 1x1 and a 3x3 to `expand` each, concatenated."""

    squeeze: int
    expand: int


@dataclass(frozen=True, kw_only=True)
class SqueezeNetConfig:
    """Dimensions of a SqueezeNet: fire modules in groups, each with a max pooling before it."""

    stem: int
    kernel: int
    """Kernel size of the first convolution, which has stride 2 and no padding."""
    groups: tuple[tuple[Fire, ...], ...]
    dropout: float = 0.5
    classes: int = 1000
    image_size: int = 224

    def without_dropout(self) -> SqueezeNetConfig:
        return dataclasses.replace(self, dropout=0.0)


@dataclass(frozen=True, kw_only=True)
class SqueezeNetWorkload(ImageWorkload):
    family: str = "squeezenet"
    config: SqueezeNetConfig
    proof: ProofFields = field(
        default_factory=lambda: {
            "batch_size": 4,
            "sizes": {"image_size": 64},
            "learning_rate": BARE_RATE,
        }
    )
    mask_sizes: Mapping[str, int] = field(default_factory=lambda: {"image_size": 32})
    """At this size, one position is left before the classifier."""

    def masks(self) -> dict[str, float]:
        return {"classifier.1.weight": self.config.dropout}

    def layers(self) -> Iterator[Convolution | Norm | Linear]:
        """Layers are numbered as in torchvision, where ReLU and pooling count too."""
        config = self.config
        size = windows(config.image_size, config.kernel, stride=2)
        yield Convolution("features.0", 3, config.stem, config.kernel, size * size, bias=True)
        inputs, number = config.stem, 3
        for group in config.groups:
            size = windows(size, 3, stride=2, ceil=True)
            for fire in group:
                at, pixels = f"features.{number}", size * size
                yield Convolution(f"{at}.squeeze", inputs, fire.squeeze, 1, pixels, bias=True)
                for kernel in (1, 3):
                    name = f"{at}.expand{kernel}x{kernel}"
                    yield Convolution(name, fire.squeeze, fire.expand, kernel, pixels, bias=True)
                inputs, number = 2 * fire.expand, number + 1
            number += 1
        yield Convolution("classifier.1", inputs, config.classes, 1, size * size, bias=True)


MODELS = {
    "squeezenet1_0": SqueezeNetWorkload(
        name="squeezenet1_0",
        title="SqueezeNet 1.0",
        config=SqueezeNetConfig(
            stem=96,
            kernel=7,
            groups=(
                (Fire(16, 64), Fire(16, 64), Fire(32, 128)),
                (Fire(32, 128), Fire(48, 192), Fire(48, 192), Fire(64, 256)),
                (Fire(64, 256),),
            ),
        ),
    ),
    "squeezenet1_1": SqueezeNetWorkload(
        name="squeezenet1_1",
        title="SqueezeNet 1.1",
        config=SqueezeNetConfig(
            stem=64,
            kernel=3,
            groups=(
                (Fire(16, 64), Fire(16, 64)),
                (Fire(32, 128), Fire(32, 128)),
                (Fire(48, 192), Fire(48, 192), Fire(64, 256), Fire(64, 256)),
            ),
        ),
    ),
}
