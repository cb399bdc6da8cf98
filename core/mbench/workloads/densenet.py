"""DenseNet (Huang et al. 2017, arXiv:1608.06993).

Reference implementation: torchvision.models.densenet. Batch norm and ReLU come before each
convolution; a dense layer's input is all that came before it in its block, concatenated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mbench.workloads.images import Convolution, ImageWorkload, Linear, Norm, windows

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MODELS", "DenseNetConfig", "DenseNetWorkload"]


@dataclass(frozen=True, kw_only=True)
class DenseNetConfig:
    """Dimensions of a DenseNet-BC: each dense layer adds `growth` channels, and makes them from
    `bottleneck` times as many. No dropout, as in torchvision. Batch norm: epsilon 1e-5, 0.1 of
    each new statistic.
    """

    blocks: tuple[int, ...] = (6, 12, 24, 16)
    growth: int = 32
    stem: int = 64
    bottleneck: int = 4
    classes: int = 1000
    image_size: int = 224
    epsilon: float = 1e-5
    momentum: float = 0.1

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
        channels, inner = config.stem, config.bottleneck * config.growth
        for block, depth in enumerate(config.blocks, start=1):
            for layer in range(1, depth + 1):
                at = f"features.denseblock{block}.denselayer{layer}"
                yield Norm(f"{at}.norm1", channels)
                yield Convolution(f"{at}.conv1", channels, inner, 1, size * size)
                yield Norm(f"{at}.norm2", inner)
                yield Convolution(f"{at}.conv2", inner, config.growth, 3, size * size)
                channels += config.growth
            if block < len(config.blocks):
                at = f"features.transition{block}"
                yield Norm(f"{at}.norm", channels)
                yield Convolution(f"{at}.conv", channels, channels // 2, 1, size * size)
                channels //= 2
                size //= 2
        yield Norm("features.norm5", channels)
        yield Linear("classifier", channels, config.classes)


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
