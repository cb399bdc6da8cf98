"""A model with two layers that classifies images. Shapes: B batch, C channels, H W pixels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mbench.contract.workload import Size
from mbench.workloads.images import Convolution, ImageWorkload, Linear, Norm

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, kw_only=True)
class PerceptronConfig:
    hidden: int = 256
    classes: int = 10
    image_size: int = 32

    def without_dropout(self) -> PerceptronConfig:
        return self


@dataclass(frozen=True, kw_only=True)
class PerceptronWorkload(ImageWorkload):
    config: PerceptronConfig

    def layers(self) -> Iterator[Convolution | Norm | Linear]:
        config = self.config
        yield Linear("hidden", 3 * config.image_size**2, config.hidden)
        yield Linear("output", config.hidden, config.classes)


PERCEPTRON = PerceptronWorkload(
    name="perceptron",
    title="Perceptron",
    family="perceptron",
    config=PerceptronConfig(),
    proof={"batch_size": 8, "sizes": {"image_size": 32}, "learning_rate": 2.0**-7},
    sizes={"image_size": Size(standard=32)},
    model_files={"torch": "mbench_perceptron.pytorch"},
)
