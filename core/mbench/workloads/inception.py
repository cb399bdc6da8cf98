"""Inception v3 (Szegedy et al. 2016, arXiv:1512.00567).

Reference implementation: torchvision.models.inception with its auxiliary head, and without
`transform_input`, which belongs to weights of another preprocessing. In training the auxiliary
head's cross entropy counts 0.4. Average pooling of 3x3 counts the zeros of its padding.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mbench.contract.compat import zipped
from mbench.workloads.images import Convolution, ImageWorkload, Linear, Norm, windows
from mbench.workloads.workload import Size

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Layers = Iterator[Convolution | Norm | Linear]

__all__ = ["AUXILIARY_WEIGHT", "MODELS", "InceptionConfig", "InceptionWorkload"]

AUXILIARY_WEIGHT = 0.4
"""Of the auxiliary head's cross entropy in the loss."""
WIDE, TALL = (1, 7), (7, 1)


@dataclass(frozen=True, kw_only=True)
class InceptionConfig:
    """Inception v3 has one size. Batch norm: epsilon 1e-3, 0.1 of each new statistic."""

    pooled: tuple[int, ...] = (32, 64, 64)
    """Channels after the pooling of the modules 5b, 5c, 5d."""
    factorized: tuple[int, ...] = (128, 160, 160, 192)
    """Channels between the 1x7 and 7x1 convolutions of the modules 6b to 6e."""
    dropout: float = 0.5
    classes: int = 1000
    image_size: int = 299
    epsilon: float = 1e-3
    momentum: float = 0.1

    def without_dropout(self) -> InceptionConfig:
        return dataclasses.replace(self, dropout=0.0)


@dataclass(frozen=True, kw_only=True)
class InceptionWorkload(ImageWorkload):
    family: str = "inception"
    config: InceptionConfig
    # From here on the auxiliary head's 5x5 convolution has 5x5 pixels to work on.
    sizes: Mapping[str, Size] = field(
        default_factory=lambda: {"image_size": Size(standard=299, least=299)}
    )
    batch_sizes: dict[str, int] = field(default_factory=lambda: {"cpu": 2, "cuda": 128})
    # The auxiliary head's last batch norm sees one pixel a sample: of two samples it leaves only
    # their order, and of three, three steps make rounding 10 times what they make of it with six.
    proof: dict[str, Any] = field(
        default_factory=lambda: {
            "batch_size": 6,
            "sizes": {"image_size": 299},
            "learning_rate": 1e-4,
        }
    )
    mask_sizes: Mapping[str, int] = field(default_factory=lambda: {"image_size": 347})
    """The least of which that batch norm sees more than one pixel of one sample."""

    def masks(self) -> dict[str, float]:
        return {"fc.weight": self.config.dropout}

    def layers(self) -> Layers:
        config = self.config
        size = windows(config.image_size, 3, stride=2)
        yield from normed("Conv2d_1a_3x3", 3, 32, 3, size)
        size = windows(size, 3)
        yield from normed("Conv2d_2a_3x3", 32, 32, 3, size)
        yield from normed("Conv2d_2b_3x3", 32, 64, 3, size)
        size = windows(size, 3, stride=2)
        yield from normed("Conv2d_3b_1x1", 64, 80, 1, size)
        size = windows(size, 3)
        yield from normed("Conv2d_4a_3x3", 80, 192, 3, size)
        size = windows(size, 3, stride=2)
        inputs = 192
        for letter, pooled in zipped("bcd", config.pooled):
            yield from module_a(f"Mixed_5{letter}", inputs, pooled, size)
            inputs = 224 + pooled
        after = windows(size, 3, stride=2)
        yield from module_b("Mixed_6a", inputs, size, after)
        inputs, size = 480 + inputs, after
        for letter, inner in zipped("bcde", config.factorized):
            yield from module_c(f"Mixed_6{letter}", inputs, inner, size)
        side = windows(size, 5, stride=3)
        yield from normed("AuxLogits.conv0", inputs, 128, 1, side, auxiliary=True)
        side = windows(side, 5)
        yield from normed("AuxLogits.conv1", 128, 768, 5, side, auxiliary=True)
        yield Linear("AuxLogits.fc", 768, config.classes, auxiliary=True)
        after = windows(size, 3, stride=2)
        yield from module_d("Mixed_7a", inputs, size, after)
        inputs, size = 512 + inputs, after
        for letter in "bc":
            yield from module_e(f"Mixed_7{letter}", inputs, size)
            inputs = 2048
        yield Linear("fc", inputs, config.classes)


def normed(
    at: str,
    inputs: int,
    outputs: int,
    kernel: int | tuple[int, int],
    size: int,
    *,
    auxiliary: bool = False,
) -> Iterator[Convolution | Norm]:
    """A convolution and its batch norm; `size` is the side of what it puts out."""
    yield Convolution(f"{at}.conv", inputs, outputs, kernel, size * size, auxiliary=auxiliary)
    yield Norm(f"{at}.bn", outputs, auxiliary=auxiliary)


def module_a(at: str, inputs: int, pooled: int, size: int) -> Layers:
    yield from normed(f"{at}.branch1x1", inputs, 64, 1, size)
    yield from normed(f"{at}.branch5x5_1", inputs, 48, 1, size)
    yield from normed(f"{at}.branch5x5_2", 48, 64, 5, size)
    yield from normed(f"{at}.branch3x3dbl_1", inputs, 64, 1, size)
    yield from normed(f"{at}.branch3x3dbl_2", 64, 96, 3, size)
    yield from normed(f"{at}.branch3x3dbl_3", 96, 96, 3, size)
    yield from normed(f"{at}.branch_pool", inputs, pooled, 1, size)


def module_b(at: str, inputs: int, size: int, after: int) -> Layers:
    """Strides of 2 from `size` to `after`; the third branch is a max pooling."""
    yield from normed(f"{at}.branch3x3", inputs, 384, 3, after)
    yield from normed(f"{at}.branch3x3dbl_1", inputs, 64, 1, size)
    yield from normed(f"{at}.branch3x3dbl_2", 64, 96, 3, size)
    yield from normed(f"{at}.branch3x3dbl_3", 96, 96, 3, after)


def module_c(at: str, inputs: int, inner: int, size: int) -> Layers:
    yield from normed(f"{at}.branch1x1", inputs, 192, 1, size)
    yield from normed(f"{at}.branch7x7_1", inputs, inner, 1, size)
    yield from normed(f"{at}.branch7x7_2", inner, inner, WIDE, size)
    yield from normed(f"{at}.branch7x7_3", inner, 192, TALL, size)
    yield from normed(f"{at}.branch7x7dbl_1", inputs, inner, 1, size)
    yield from normed(f"{at}.branch7x7dbl_2", inner, inner, TALL, size)
    yield from normed(f"{at}.branch7x7dbl_3", inner, inner, WIDE, size)
    yield from normed(f"{at}.branch7x7dbl_4", inner, inner, TALL, size)
    yield from normed(f"{at}.branch7x7dbl_5", inner, 192, WIDE, size)
    yield from normed(f"{at}.branch_pool", inputs, 192, 1, size)


def module_d(at: str, inputs: int, size: int, after: int) -> Layers:
    """Strides of 2 from `size` to `after`; the third branch is a max pooling."""
    yield from normed(f"{at}.branch3x3_1", inputs, 192, 1, size)
    yield from normed(f"{at}.branch3x3_2", 192, 320, 3, after)
    yield from normed(f"{at}.branch7x7x3_1", inputs, 192, 1, size)
    yield from normed(f"{at}.branch7x7x3_2", 192, 192, WIDE, size)
    yield from normed(f"{at}.branch7x7x3_3", 192, 192, TALL, size)
    yield from normed(f"{at}.branch7x7x3_4", 192, 192, 3, after)


def module_e(at: str, inputs: int, size: int) -> Layers:
    """Two branches end in a 1x3 and a 3x1 convolution side by side."""
    yield from normed(f"{at}.branch1x1", inputs, 320, 1, size)
    yield from normed(f"{at}.branch3x3_1", inputs, 384, 1, size)
    yield from normed(f"{at}.branch3x3_2a", 384, 384, (1, 3), size)
    yield from normed(f"{at}.branch3x3_2b", 384, 384, (3, 1), size)
    yield from normed(f"{at}.branch3x3dbl_1", inputs, 448, 1, size)
    yield from normed(f"{at}.branch3x3dbl_2", 448, 384, 3, size)
    yield from normed(f"{at}.branch3x3dbl_3a", 384, 384, (1, 3), size)
    yield from normed(f"{at}.branch3x3dbl_3b", 384, 384, (3, 1), size)
    yield from normed(f"{at}.branch_pool", inputs, 192, 1, size)


MODELS = {
    "inception_v3": InceptionWorkload(
        name="inception_v3", title="Inception v3", config=InceptionConfig()
    )
}
