"""GoogLeNet (Szegedy et al. 2015, arXiv:1409.4842) with batch norm.

Reference implementation: torchvision.models.googlenet with its auxiliary heads, and without
`transform_input`, which belongs to weights of another preprocessing. Its third branch has a 3x3
convolution where the paper has 5x5. In training, each auxiliary head's cross entropy counts 0.3.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mbench.workloads.images import Convolution, ImageWorkload, Linear, Norm, windows

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["AUXILIARY_WEIGHT", "MODELS", "GoogLeNetConfig", "GoogLeNetWorkload", "Mixed"]


@dataclass(frozen=True)
class Mixed:
    """One inception module's channels: 1x1 alone, before and after both 3x3, after the pooling.

    `auxiliary` names the head that hangs on its output.
    """

    name: str
    single: int
    reduce3: int
    wide3: int
    reduce5: int
    wide5: int
    pooled: int
    auxiliary: str = ""

    @property
    def outputs(self) -> int:
        return self.single + self.wide3 + self.wide5 + self.pooled


MODULES = (
    Mixed("3a", 64, 96, 128, 16, 32, 32),
    Mixed("3b", 128, 128, 192, 32, 96, 64),
    Mixed("4a", 192, 96, 208, 16, 48, 64, "aux1"),
    Mixed("4b", 160, 112, 224, 24, 64, 64),
    Mixed("4c", 128, 128, 256, 24, 64, 64),
    Mixed("4d", 112, 144, 288, 32, 64, 64, "aux2"),
    Mixed("4e", 256, 160, 320, 32, 128, 128),
    Mixed("5a", 256, 160, 320, 32, 128, 128),
    Mixed("5b", 384, 192, 384, 48, 128, 128),
)
AUXILIARY_WEIGHT = 0.3
"""Of each auxiliary head's cross entropy in the loss."""
AUXILIARY_SIDE = 4
"""Regions per side over which an auxiliary head averages its pixels."""


@dataclass(frozen=True, kw_only=True)
class GoogLeNetConfig:
    """GoogLeNet has one size. Batch norm: epsilon 1e-3, 0.1 of each new statistic."""

    modules: tuple[Mixed, ...] = MODULES
    dropout: float = 0.2
    auxiliary_dropout: float = 0.7
    classes: int = 1000
    image_size: int = 224
    epsilon: float = 1e-3
    momentum: float = 0.1

    def without_dropout(self) -> GoogLeNetConfig:
        return dataclasses.replace(self, dropout=0.0, auxiliary_dropout=0.0)


@dataclass(frozen=True, kw_only=True)
class GoogLeNetWorkload(ImageWorkload):
    family: str = "googlenet"
    config: GoogLeNetConfig
    # At 224 pixels the auxiliary heads' regions overlap.
    proof: dict[str, Any] = field(
        default_factory=lambda: {
            "batch_size": 2,
            "sizes": {"image_size": 224},
            "learning_rate": 1e-4,
        }
    )

    def masks(self) -> dict[str, float]:
        config = self.config
        auxiliary = {f"aux{at}.fc2.weight": config.auxiliary_dropout for at in (1, 2)}
        return {"fc.weight": config.dropout, **auxiliary}

    def layers(self) -> Iterator[Convolution | Norm | Linear]:
        """Both auxiliary heads come after the last module."""
        config = self.config
        size = windows(config.image_size, 7, stride=2, padding=3)
        yield from normed("conv1", 3, 64, 7, size)
        size = windows(size, 3, stride=2, ceil=True)
        yield from normed("conv2", 64, 64, 1, size)
        yield from normed("conv3", 64, 192, 3, size)
        inputs, heads = 192, []
        for module in config.modules:
            if module.name in ("3a", "4a"):
                size = windows(size, 3, stride=2, ceil=True)
            if module.name == "5a":
                size = windows(size, 2, stride=2, ceil=True)
            at = f"inception{module.name}"
            yield from normed(f"{at}.branch1", inputs, module.single, 1, size)
            yield from normed(f"{at}.branch2.0", inputs, module.reduce3, 1, size)
            yield from normed(f"{at}.branch2.1", module.reduce3, module.wide3, 3, size)
            yield from normed(f"{at}.branch3.0", inputs, module.reduce5, 1, size)
            yield from normed(f"{at}.branch3.1", module.reduce5, module.wide5, 3, size)
            yield from normed(f"{at}.branch4.1", inputs, module.pooled, 1, size)
            inputs = module.outputs
            if module.auxiliary:
                heads.append((module.auxiliary, inputs))
        for head, channels in heads:
            yield from normed(f"{head}.conv", channels, 128, 1, AUXILIARY_SIDE, auxiliary=True)
            features = 128 * AUXILIARY_SIDE**2
            yield Linear(f"{head}.fc1", features, 1024, auxiliary=True)
            yield Linear(f"{head}.fc2", 1024, config.classes, auxiliary=True)
        yield Linear("fc", inputs, config.classes)


def normed(
    at: str, inputs: int, outputs: int, kernel: int, size: int, *, auxiliary: bool = False
) -> Iterator[Convolution | Norm]:
    """A convolution and its batch norm; `size` is the side of what it puts out."""
    yield Convolution(f"{at}.conv", inputs, outputs, kernel, size * size, auxiliary=auxiliary)
    yield Norm(f"{at}.bn", outputs, auxiliary=auxiliary)


MODELS = {
    "googlenet": GoogLeNetWorkload(name="googlenet", title="GoogLeNet", config=GoogLeNetConfig())
}
