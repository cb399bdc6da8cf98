"""ResNet v1.5 (He et al. 2016, arXiv:1512.03385; v1.5: the stride sits in the 3x3 convolution).

Reference implementation: torchvision.models.resnet. Shapes: B batch, C channels, H, W pixels.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mbench.workloads.workload import Optimizer, Tensor, Workload

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

__all__ = ["RESNET50", "ResNetConfig", "ResNetWorkload"]

STANDARD_IMAGE_SIZE = 224
SMALLEST_IMAGE_SIZE = 32


@dataclass(frozen=True, kw_only=True)
class ResNetConfig:
    """Dimensions of a bottleneck ResNet. Batch norm: epsilon 1e-5, 0.1 of each new statistic."""

    blocks: tuple[int, ...] = (3, 4, 6, 3)
    widths: tuple[int, ...] = (64, 128, 256, 512)
    expansion: int = 4
    stem: int = 64
    classes: int = 1000
    image_size: int = STANDARD_IMAGE_SIZE
    epsilon: float = 1e-5
    momentum: float = 0.1

    def without_dropout(self) -> ResNetConfig:
        return self


@dataclass(frozen=True)
class Convolution:
    """One convolution with its batch norm: where it is, its shape and its output pixels."""

    name: str
    norm: str
    inputs: int
    outputs: int
    kernel: int
    pixels: int
    norm_center: float = 1.0


def convolutions(config: ResNetConfig) -> Iterator[Convolution]:
    """All convolutions in order of definition; a block's shortcut comes last in it."""
    size = math.ceil(config.image_size / 2)
    yield Convolution("conv1", "bn1", 3, config.stem, 7, size * size)
    size = math.ceil(size / 2)
    inputs = config.stem
    for stage, (blocks, width) in enumerate(
        zip(config.blocks, config.widths, strict=True), start=1
    ):
        for block in range(blocks):
            stride = 2 if stage > 1 and block == 0 else 1
            after = math.ceil(size / stride)
            at = f"layer{stage}.{block}"
            outputs = width * config.expansion
            yield Convolution(f"{at}.conv1", f"{at}.bn1", inputs, width, 1, size * size)
            yield Convolution(f"{at}.conv2", f"{at}.bn2", width, width, 3, after * after)
            # A small gain on the last norm of a block keeps activations near 1 at any depth.
            yield Convolution(f"{at}.conv3", f"{at}.bn3", width, outputs, 1, after * after, 0.25)
            if block == 0:
                down = f"{at}.downsample"
                yield Convolution(f"{down}.0", f"{down}.1", inputs, outputs, 1, after * after)
            inputs, size = outputs, after


@dataclass(frozen=True, kw_only=True)
class ResNetWorkload(Workload):
    """Image classification with softmax cross entropy, averaged over the batch."""

    config: ResNetConfig

    def resized(self, *, image_size: int | None, sequence_length: int | None) -> ResNetWorkload:
        if sequence_length is not None:
            raise ValueError(f"{self.name} takes images: it has no sequence length")
        if image_size is None:
            return self
        if image_size < SMALLEST_IMAGE_SIZE:
            raise ValueError(f"{self.name} needs images of {SMALLEST_IMAGE_SIZE} pixels or more")
        return dataclasses.replace(
            self, config=dataclasses.replace(self.config, image_size=image_size)
        )

    def is_standard(self) -> bool:
        return self.config.image_size == STANDARD_IMAGE_SIZE

    def tensors(self) -> list[Tensor]:
        found = []
        for conv in convolutions(self.config):
            shape = (conv.outputs, conv.inputs, conv.kernel, conv.kernel)
            # He et al. 2015 (arXiv:1502.01852), fan-out: variance 2 / (outputs * kernel area).
            scale = math.sqrt(6 / (conv.outputs * conv.kernel**2))
            center = conv.norm_center
            norm = (conv.outputs,)
            found += [
                Tensor(f"{conv.name}.weight", shape, scale),
                Tensor(f"{conv.norm}.weight", norm, 0.1 * center, center),
                Tensor(f"{conv.norm}.bias", norm, 0.1),
                Tensor(f"{conv.norm}.running_mean", norm, 0.1, trainable=False),
                Tensor(f"{conv.norm}.running_var", norm, 0.1, 1.0, trainable=False),
            ]
        features = self.config.widths[-1] * self.config.expansion
        scale = 1 / math.sqrt(features)
        found += [
            Tensor("fc.weight", (self.config.classes, features), scale),
            Tensor("fc.bias", (self.config.classes,), scale),
        ]
        return found

    def batch(self, size: int, *, seed: int) -> dict[str, np.ndarray]:
        """images: float32 (B, 3, H, W) of unit variance; labels: int64 (B,)."""
        import numpy as np

        from mbench.workloads import generator

        pixels = self.config.image_size
        key = f"data/{seed}/images"
        return {
            "images": generator.uniform(key, (size, 3, pixels, pixels)) * np.float32(math.sqrt(3)),
            "labels": generator.integers(f"data/{seed}/labels", (size,), below=self.config.classes),
        }

    def forward_flops(self) -> float:
        macs = sum(c.pixels * c.outputs * c.inputs * c.kernel**2 for c in convolutions(self.config))
        features = self.config.widths[-1] * self.config.expansion
        return 2.0 * (macs + features * self.config.classes)


RESNET50 = ResNetWorkload(
    name="resnet50",
    title="ResNet-50 v1.5",
    family="resnet",
    samples="images",
    size="image_size",
    batch_sizes={"cpu": 4, "cuda": 128},
    config=ResNetConfig(),
    proof={"batch_size": 4, "image_size": 64, "learning_rate": 1e-4},
    # The published recipe's momentum and weight decay (on every parameter, as in torchvision's).
    optimizer=Optimizer(rule="sgd", learning_rate=1e-8, momentum=0.9, weight_decay=1e-4),
)
