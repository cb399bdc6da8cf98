"""DenseNet (Huang et al. 2017, arXiv:1608.06993).

Reference implementation: torchvision.models.densenet. Batch norm and ReLU come before each
convolution. A dense layer takes everything before it in its block, concatenated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mbench.workloads.images import Convolution, ImageWorkload, Linear, Norm, windows

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MODELS", "DenseLayer", "DenseNetConfig", "DenseNetWorkload", "Transition"]


@dataclass(frozen=True)
class DenseLayer:
    """A 1x1 convolution to `inner` channels, then a 3x3 to `growth`, appended to the `inputs`."""

    name: str
    inputs: int
    inner: int
    growth: int


@dataclass(frozen=True)
class Transition:
    """A 1x1 convolution to half the channels, then a 2x2 mean, which halves height and width."""

    name: str
    inputs: int

    @property
    def outputs(self) -> int:
        return self.inputs // 2


@dataclass(frozen=True, kw_only=True)
class DenseNetConfig:
    """Dimensions of a DenseNet-BC. Each dense layer adds `growth` channels, computed from
    `bottleneck` times as many. There is no dropout, as in torchvision. Batch norm: epsilon 1e-5,
    0.1 of each new statistic.
    """

    blocks: tuple[int, ...] = (6, 12, 24, 16)
    growth: int = 32
    stem: int = 64
    bottleneck: int = 4
    classes: int = 1000
    image_size: int = 224
    epsilon: float = 1e-5
    momentum: float = 0.1

    def parts(self) -> Iterator[DenseLayer | Transition]:
        """Everything between the first pooling and the last batch norm, named below "features"."""
        channels, inner = self.stem, self.bottleneck * self.growth
        for block, depth in enumerate(self.blocks, start=1):
            if block > 1:
                yield Transition(f"transition{block - 1}", channels)
                channels //= 2
            for layer in range(1, depth + 1):
                name = f"denseblock{block}.denselayer{layer}"
                yield DenseLayer(name, channels, inner, self.growth)
                channels += self.growth

    @property
    def features(self) -> int:
        """Channels before the classifier."""
        *_, last = self.parts()
        return last.inputs + self.growth  # a dense layer is the last part

    def without_dropout(self) -> DenseNetConfig:
        return self


@dataclass(frozen=True, kw_only=True)
class DenseNetWorkload(ImageWorkload):
    family: str = "densenet"
    config: DenseNetConfig

    def layers(self) -> Iterator[Convolution | Norm | Linear]:
        config = self.config
        size = windows(config.image_size, 7, stride=2, padding=3)
        yield Convolution("features.conv0", 3, config.stem, 7, size * size)
        yield Norm("features.norm0", config.stem)
        size = windows(size, 3, stride=2, padding=1)
        for part in config.parts():
            at = f"features.{part.name}"
            if isinstance(part, Transition):
                yield Norm(f"{at}.norm", part.inputs)
                yield Convolution(f"{at}.conv", part.inputs, part.outputs, 1, size * size)
                size //= 2
            else:
                yield Norm(f"{at}.norm1", part.inputs)
                yield Convolution(f"{at}.conv1", part.inputs, part.inner, 1, size * size)
                yield Norm(f"{at}.norm2", part.inner)
                yield Convolution(f"{at}.conv2", part.inner, part.growth, 3, size * size)
        yield Norm("features.norm5", config.features)
        yield Linear("classifier", config.features, config.classes)


MODELS = {
    workload.name: workload
    for workload in (
        DenseNetWorkload(name="densenet121", title="DenseNet-121", config=DenseNetConfig()),
        DenseNetWorkload(
            name="densenet161",
            title="DenseNet-161",
            config=DenseNetConfig(blocks=(6, 12, 36, 24), growth=48, stem=96),
        ),
        DenseNetWorkload(
            name="densenet169",
            title="DenseNet-169",
            config=DenseNetConfig(blocks=(6, 12, 32, 32)),
        ),
        DenseNetWorkload(
            name="densenet201",
            title="DenseNet-201",
            config=DenseNetConfig(blocks=(6, 12, 48, 32)),
        ),
    )
}
