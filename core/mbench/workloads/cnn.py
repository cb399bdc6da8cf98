"""A small convolutional network, similar to LeNet-5 (LeCun et al. 1998) but with batch norm.

Two 3x3 convolutions, each followed by batch norm, a ReLU and a 2x2 max pool, then a linear layer.
Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mbench.workloads.images import Convolution, ImageWorkload, Linear, Norm

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

__all__ = ["CNN", "MODELS", "CNNConfig", "CNNWorkload"]


@dataclass(frozen=True, kw_only=True)
class CNNConfig:
    """Dimensions of the CNN. Batch norm: epsilon 1e-5, 0.1 of each new statistic."""

    channels: int = 1
    first: int = 16
    second: int = 32
    classes: int = 10
    image_size: int = 16
    epsilon: float = 1e-5
    momentum: float = 0.1

    def without_dropout(self) -> CNNConfig:
        return self

    @property
    def flat(self) -> int:
        """Inputs of the linear layer, channel by channel."""
        return self.second * (self.image_size // 4) ** 2


@dataclass(frozen=True, kw_only=True)
class CNNWorkload(ImageWorkload):
    family: str = "cnn"
    config: CNNConfig

    def layers(self) -> Iterator[Convolution | Norm | Linear]:
        config, side = self.config, self.config.image_size
        yield Convolution("conv1", config.channels, config.first, 3, side**2)
        yield Norm("bn1", config.first)
        yield Convolution("conv2", config.first, config.second, 3, (side // 2) ** 2)
        yield Norm("bn2", config.second)
        yield Linear("fc", config.flat, config.classes)

    def batch(self, size: int, *, seed: int) -> dict[str, np.ndarray]:
        """images: float32 (B, C, H, W); labels: int64 (B,)."""
        from mbench.contract import generator

        config = self.config
        shape = (size, config.channels, config.image_size, config.image_size)
        return {
            "images": generator.uniform(f"data/{seed}/images", shape),
            "labels": generator.integers(f"data/{seed}/labels", (size,), below=config.classes),
        }


CNN = CNNWorkload(name="cnn", title="Small CNN", config=CNNConfig())
MODELS = {CNN.name: CNN}
