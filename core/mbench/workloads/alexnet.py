"""AlexNet in one column (Krizhevsky 2014, arXiv:1404.5997).

Reference implementation: torchvision.models.alexnet. Between features and classifier, pixels are
averaged over 6 x 6 regions; at 224 pixels there are exactly that many, so nothing changes.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mbench.contract.workload import Size
from mbench.workloads.images import (
    BARE_RATE,
    Convolution,
    ImageWorkload,
    Linear,
    Norm,
    Operations,
    windows,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mbench.contract.workload import ProofFields

__all__ = ["MODELS", "AlexNetConfig", "AlexNetWorkload"]

POOLED = 6


@dataclass(frozen=True, kw_only=True)
class AlexNetConfig:
    """Dimensions of AlexNet. Its five convolutions have 11x11, 5x5 and 3x3 kernels."""

    widths: tuple[int, ...] = (64, 192, 384, 256, 256)
    hidden: int = 4096
    dropout: float = 0.5
    classes: int = 1000
    image_size: int = 224

    def without_dropout(self) -> AlexNetConfig:
        return dataclasses.replace(self, dropout=0.0)


@dataclass(frozen=True, kw_only=True)
class AlexNetWorkload(ImageWorkload):
    family: str = "alexnet"
    config: AlexNetConfig
    sizes: Mapping[str, Size] = field(
        default_factory=lambda: {"image_size": Size(standard=224, least=63)}
    )
    # The smallest size at which every pixel has its own classifier input.
    proof: ProofFields = field(
        default_factory=lambda: {
            "batch_size": 4,
            "sizes": {"image_size": 224},
            "learning_rate": BARE_RATE,
        }
    )

    def masks(self) -> dict[str, float]:
        return {"classifier.1.weight": self.config.dropout}

    def operations(self, batch_size: int, *, training: bool) -> list[str]:
        """Leaves out dropout, convolution biases, and averaging over regions, a no-op at 224."""
        config = self.config
        first, second, third, fourth, fifth = config.widths
        made = Operations(batch_size)
        side = made.convolution(3, config.image_size, first, 11, stride=4, padding=2, relu=True)
        side = made.max_pool(first, side, 3, stride=2)
        side = made.convolution(first, side, second, 5, relu=True)
        side = made.max_pool(second, side, 3, stride=2)
        for inputs, outputs in ((second, third), (third, fourth), (fourth, fifth)):
            made.convolution(inputs, side, outputs, 3, relu=True)
        made.max_pool(fifth, side, 3, stride=2)
        sizes = (fifth * POOLED**2, config.hidden, config.hidden, config.classes)
        made.classifier(sizes, training=training)
        return made.found

    def layers(self) -> Iterator[Convolution | Norm | Linear]:
        """Layers are numbered as in torchvision, where ReLU and pooling count too."""
        config = self.config
        first, second, third, fourth, fifth = config.widths
        size = windows(config.image_size, 11, stride=4, padding=2)
        yield Convolution("features.0", 3, first, 11, size * size, bias=True)
        size = windows(size, 3, stride=2)
        yield Convolution("features.3", first, second, 5, size * size, bias=True)
        size = windows(size, 3, stride=2)
        yield Convolution("features.6", second, third, 3, size * size, bias=True)
        yield Convolution("features.8", third, fourth, 3, size * size, bias=True)
        yield Convolution("features.10", fourth, fifth, 3, size * size, bias=True)
        yield Linear("classifier.1", fifth * POOLED**2, config.hidden)
        yield Linear("classifier.4", config.hidden, config.hidden)
        yield Linear("classifier.6", config.hidden, config.classes)


MODELS = {"alexnet": AlexNetWorkload(name="alexnet", title="AlexNet", config=AlexNetConfig())}
