"""GoogLeNet (Szegedy et al. 2015, arXiv:1409.4842) with batch norm.

Reference implementation: torchvision.models.googlenet with its auxiliary heads, and without
`transform_input`, which is for weights trained with other preprocessing. The third branch has a 3x3
convolution where the paper has 5x5. In training, each auxiliary head's cross entropy has a weight
of 0.3.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mbench.workloads.branches import Branch, Conv, Head, Mixed, Pool
from mbench.workloads.images import NORMED_RATE, Convolution, ImageWorkload, Linear, Norm

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mbench.contract.workload import ProofFields
    from mbench.workloads.branches import Part

    Layers = Iterator[Convolution | Norm | Linear]

__all__ = ["AUXILIARY_SIDE", "AUXILIARY_WEIGHT", "HEADS", "HIDDEN", "MODELS",
           "GoogLeNetConfig", "GoogLeNetWorkload", "auxiliary"]  # fmt: skip


@dataclass(frozen=True)
class Widths:
    """One inception module's channels: the lone 1x1, before and after each 3x3, after the pooling.

    `auxiliary` names the head attached to its output.
    """

    name: str
    single: int
    reduce3: int
    wide3: int
    reduce5: int
    wide5: int
    pooled: int
    auxiliary: str = ""

    def module(self, inputs: int) -> Mixed:
        branches = (
            Branch((Conv("branch1", inputs, self.single),)),
            twice("branch2", inputs, self.reduce3, self.wide3),
            twice("branch3", inputs, self.reduce5, self.wide5),
            Branch((Pool(stride=1, padding=1), Conv("branch4.1", inputs, self.pooled))),
        )
        return Mixed(f"inception{self.name}", inputs, branches)


def twice(name: str, inputs: int, inner: int, outputs: int) -> Branch:
    """A 1x1, then a 3x3 convolution."""
    return Branch((Conv(f"{name}.0", inputs, inner), Conv(f"{name}.1", inner, outputs, 3)))


MODULES = (
    Widths("3a", 64, 96, 128, 16, 32, 32),
    Widths("3b", 128, 128, 192, 32, 96, 64),
    Widths("4a", 192, 96, 208, 16, 48, 64, "aux1"),
    Widths("4b", 160, 112, 224, 24, 64, 64),
    Widths("4c", 128, 128, 256, 24, 64, 64),
    Widths("4d", 112, 144, 288, 32, 64, 64, "aux2"),
    Widths("4e", 256, 160, 320, 32, 128, 128),
    Widths("5a", 256, 160, 320, 32, 128, 128),
    Widths("5b", 384, 192, 384, 48, 128, 128),
)
POOLINGS = {"3a": 3, "4a": 3, "5a": 2}
"""Sizes of the max poolings that come before modules."""
HEADS = ("aux1_logits", "aux2_logits")
"""Names of the auxiliary heads' logits."""
AUXILIARY_WEIGHT = 0.3
"""Weight of each auxiliary head's cross entropy in the loss."""
AUXILIARY_SIDE = 4
"""Regions per side over which an auxiliary head averages pixels."""
HIDDEN = 1024
"""Outputs of the first linear layer of an auxiliary head."""


@dataclass(frozen=True, kw_only=True)
class GoogLeNetConfig:
    """GoogLeNet has one size. Batch norm: epsilon 1e-3, 0.1 of each new statistic."""

    modules: tuple[Widths, ...] = MODULES
    dropout: float = 0.2
    auxiliary_dropout: float = 0.7
    classes: int = 1000
    image_size: int = 224
    epsilon: float = 1e-3
    momentum: float = 0.1

    def parts(self) -> Iterator[Part]:
        """Everything before the mean over pixels, dropout and the classifier."""
        yield Conv("conv1", 3, 64, 7, stride=2)
        yield Pool("maxpool1", ceil=True)
        yield Conv("conv2", 64, 64)
        yield Conv("conv3", 64, 192, 3)
        inputs = 192
        for widths in self.modules:
            if widths.name in POOLINGS:
                yield Pool(f"maxpool{widths.name}", POOLINGS[widths.name], ceil=True)
            module = widths.module(inputs)
            yield module
            inputs = module.outputs
            if widths.auxiliary:
                yield Head(widths.auxiliary, f"{widths.auxiliary}_logits", inputs)

    @property
    def features(self) -> int:
        """Channels before the classifier."""
        last = self.modules[-1]
        return last.single + last.wide3 + last.wide5 + last.pooled

    def without_dropout(self) -> GoogLeNetConfig:
        return dataclasses.replace(self, dropout=0.0, auxiliary_dropout=0.0)


@dataclass(frozen=True, kw_only=True)
class GoogLeNetWorkload(ImageWorkload):
    family: str = "googlenet"
    config: GoogLeNetConfig
    # At 224 pixels the auxiliary heads' regions overlap.
    proof: ProofFields = field(
        default_factory=lambda: {
            "batch_size": 2,
            "sizes": {"image_size": 224},
            "learning_rate": NORMED_RATE,
        }
    )

    def masks(self) -> dict[str, float]:
        config = self.config
        auxiliary = {f"aux{at}.fc2.weight": config.auxiliary_dropout for at in (1, 2)}
        return {"fc.weight": config.dropout, **auxiliary}

    def layers(self) -> Layers:
        """Both auxiliary heads come after the last module."""
        config, size, heads = self.config, self.config.image_size, []
        for part in config.parts():
            if isinstance(part, Head):
                heads.append(part)
            else:
                yield from part.layers(size)
            size = part.side(size)
        for head in heads:
            conv = auxiliary(head.inputs)
            yield from conv.layers(AUXILIARY_SIDE, at=f"{head.name}.", auxiliary=True)
            features = conv.outputs * AUXILIARY_SIDE**2
            yield Linear(f"{head.name}.fc1", features, HIDDEN, auxiliary=True)
            yield Linear(f"{head.name}.fc2", HIDDEN, config.classes, auxiliary=True)
        yield Linear("fc", config.features, config.classes)


def auxiliary(inputs: int) -> Conv:
    """The convolution of an auxiliary head, on AUXILIARY_SIDE pixels per side."""
    return Conv("conv", inputs, 128)


MODELS = {
    "googlenet": GoogLeNetWorkload(name="googlenet", title="GoogLeNet", config=GoogLeNetConfig())
}
