"""Inception v3 (Szegedy et al. 2016, arXiv:1512.00567).

Reference implementation: torchvision.models.inception with its auxiliary head, and without
`transform_input`, which is for weights trained with other preprocessing. In training, the
auxiliary head's cross entropy has a weight of 0.4. 3x3 average pooling counts the zeros of its
padding.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mbench.contract.compat import zipped
from mbench.contract.workload import Size
from mbench.workloads.branches import Branch, Conv, Head, Mixed, Pool
from mbench.workloads.images import Convolution, ImageWorkload, Linear, Norm

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mbench.contract.workload import ProofFields
    from mbench.workloads.branches import Part

    Layers = Iterator[Convolution | Norm | Linear]

__all__ = ["AUXILIARY_FEATURES", "AUXILIARY_WEIGHT", "FEATURES", "HEADS", "MODELS",
           "InceptionConfig", "InceptionWorkload", "auxiliary"]  # fmt: skip

HEADS = ("aux_logits",)
"""Name of the auxiliary head's logits."""
AUXILIARY_WEIGHT = 0.4
"""Weight of the auxiliary head's cross entropy in the loss."""
FEATURES, AUXILIARY_FEATURES = 2048, 768
"""Channels before the classifier, and before the auxiliary head's classifier."""
WIDE, TALL = (1, 7), (7, 1)
HALVING = {"stride": 2, "padding": 0}


@dataclass(frozen=True, kw_only=True)
class InceptionConfig:
    """Inception v3 has one size. Batch norm: epsilon 1e-3, 0.1 of each new statistic."""

    pooled: tuple[int, ...] = (32, 64, 64)
    """Channels after the pooling in modules 5b, 5c and 5d."""
    factorized: tuple[int, ...] = (128, 160, 160, 192)
    """Channels between the 1x7 and 7x1 convolutions in modules 6b to 6e."""
    dropout: float = 0.5
    classes: int = 1000
    image_size: int = 299
    epsilon: float = 1e-3
    momentum: float = 0.1

    def parts(self) -> Iterator[Part]:
        """Everything before the mean over pixels, dropout and the classifier."""
        yield Conv("Conv2d_1a_3x3", 3, 32, 3, **HALVING)
        yield Conv("Conv2d_2a_3x3", 32, 32, 3, padding=0)
        yield Conv("Conv2d_2b_3x3", 32, 64, 3)
        yield Pool("maxpool1")
        yield Conv("Conv2d_3b_1x1", 64, 80)
        yield Conv("Conv2d_4a_3x3", 80, 192, 3, padding=0)
        yield Pool("maxpool2")
        inputs = 192
        for letter, pooled in zipped("bcd", self.pooled):
            yield module_a(f"Mixed_5{letter}", inputs, pooled)
            inputs = 224 + pooled
        yield module_b("Mixed_6a", inputs)
        inputs += 480
        for letter, inner in zipped("bcde", self.factorized):
            yield module_c(f"Mixed_6{letter}", inputs, inner)
            inputs = 768
        yield Head("AuxLogits", *HEADS, inputs)
        yield module_d("Mixed_7a", inputs)
        yield module_e("Mixed_7b", 512 + inputs)
        yield module_e("Mixed_7c", FEATURES)

    @property
    def features(self) -> int:
        """Channels before the classifier."""
        return FEATURES

    def without_dropout(self) -> InceptionConfig:
        return dataclasses.replace(self, dropout=0.0)


@dataclass(frozen=True, kw_only=True)
class InceptionWorkload(ImageWorkload):
    family: str = "inception"
    config: InceptionConfig
    # The smallest size at which the auxiliary head's 5x5 convolution has 5x5 pixels to work on.
    sizes: Mapping[str, Size] = field(
        default_factory=lambda: {"image_size": Size(standard=299, least=299)}
    )
    batch_sizes: dict[str, int] = field(default_factory=lambda: {"cpu": 2, "cuda": 128})
    # The auxiliary head's last batch norm sees one pixel per sample. With two samples it keeps
    # only their order; with three, three steps amplify rounding 10 times as much as with six. At
    # 2**-7, the rate of other models with batch norm, three steps exceed the tolerance.
    proof: ProofFields = field(
        default_factory=lambda: {
            "batch_size": 6,
            "sizes": {"image_size": 299},
            "learning_rate": 2.0**-9,
        }
    )
    mask_sizes: Mapping[str, int] = field(default_factory=lambda: {"image_size": 347})
    """Smallest size at which the auxiliary head's last batch norm sees several pixels a sample."""

    def masks(self) -> dict[str, float]:
        return {"fc.weight": self.config.dropout}

    def layers(self) -> Layers:
        config, size = self.config, self.config.image_size
        for part in config.parts():
            if isinstance(part, Head):
                yield from self.head(part, size)
            else:
                yield from part.layers(size)
            size = part.side(size)
        yield Linear("fc", FEATURES, config.classes)

    def head(self, head: Head, size: int) -> Layers:
        for part in auxiliary(head.inputs):
            if isinstance(part, Conv):
                yield from part.layers(size, at=f"{head.name}.", auxiliary=True)
            size = part.side(size)
        yield Linear(f"{head.name}.fc", AUXILIARY_FEATURES, self.config.classes, auxiliary=True)


def auxiliary(inputs: int) -> tuple[Pool, Conv, Conv]:
    """What the auxiliary head does before the mean over pixels and its classifier."""
    return (
        Pool(size=5, stride=3, mean=True),
        Conv("conv0", inputs, 128),
        Conv("conv1", 128, AUXILIARY_FEATURES, 5, padding=0),
    )


def row(*convolutions: Conv) -> Branch:
    return Branch(convolutions)


def pooled(conv: Conv) -> Branch:
    """A convolution after a mean over 3x3 pixels at stride 1."""
    return Branch((Pool(stride=1, padding=1, mean=True), conv))


def module_a(name: str, inputs: int, outputs: int) -> Mixed:
    """`outputs`: channels of the branch that begins with pooling."""
    return Mixed(
        name,
        inputs,
        (
            row(Conv("branch1x1", inputs, 64)),
            row(Conv("branch5x5_1", inputs, 48), Conv("branch5x5_2", 48, 64, 5)),
            row(
                Conv("branch3x3dbl_1", inputs, 64),
                Conv("branch3x3dbl_2", 64, 96, 3),
                Conv("branch3x3dbl_3", 96, 96, 3),
            ),
            pooled(Conv("branch_pool", inputs, outputs)),
        ),
    )


def module_b(name: str, inputs: int) -> Mixed:
    """Halves the sides."""
    return Mixed(
        name,
        inputs,
        (
            row(Conv("branch3x3", inputs, 384, 3, **HALVING)),
            row(
                Conv("branch3x3dbl_1", inputs, 64),
                Conv("branch3x3dbl_2", 64, 96, 3),
                Conv("branch3x3dbl_3", 96, 96, 3, **HALVING),
            ),
            Branch((Pool(),)),
        ),
    )


def module_c(name: str, inputs: int, inner: int) -> Mixed:
    """A 7x7 convolution is a 1x7 and a 7x1, with `inner` channels between them."""
    return Mixed(
        name,
        inputs,
        (
            row(Conv("branch1x1", inputs, 192)),
            row(
                Conv("branch7x7_1", inputs, inner),
                Conv("branch7x7_2", inner, inner, WIDE),
                Conv("branch7x7_3", inner, 192, TALL),
            ),
            row(
                Conv("branch7x7dbl_1", inputs, inner),
                Conv("branch7x7dbl_2", inner, inner, TALL),
                Conv("branch7x7dbl_3", inner, inner, WIDE),
                Conv("branch7x7dbl_4", inner, inner, TALL),
                Conv("branch7x7dbl_5", inner, 192, WIDE),
            ),
            pooled(Conv("branch_pool", inputs, 192)),
        ),
    )


def module_d(name: str, inputs: int) -> Mixed:
    """Halves the sides."""
    return Mixed(
        name,
        inputs,
        (
            row(
                Conv("branch3x3_1", inputs, 192),
                Conv("branch3x3_2", 192, 320, 3, **HALVING),
            ),
            row(
                Conv("branch7x7x3_1", inputs, 192),
                Conv("branch7x7x3_2", 192, 192, WIDE),
                Conv("branch7x7x3_3", 192, 192, TALL),
                Conv("branch7x7x3_4", 192, 192, 3, **HALVING),
            ),
            Branch((Pool(),)),
        ),
    )


def module_e(name: str, inputs: int) -> Mixed:
    """Two branches end in a 1x3 and a 3x1 convolution side by side."""
    return Mixed(
        name,
        inputs,
        (
            row(Conv("branch1x1", inputs, 320)),
            Branch(
                (Conv("branch3x3_1", inputs, 384),),
                ends=(
                    Conv("branch3x3_2a", 384, 384, (1, 3)),
                    Conv("branch3x3_2b", 384, 384, (3, 1)),
                ),
            ),
            Branch(
                (Conv("branch3x3dbl_1", inputs, 448), Conv("branch3x3dbl_2", 448, 384, 3)),
                ends=(
                    Conv("branch3x3dbl_3a", 384, 384, (1, 3)),
                    Conv("branch3x3dbl_3b", 384, 384, (3, 1)),
                ),
            ),
            pooled(Conv("branch_pool", inputs, 192)),
        ),
    )


MODELS = {
    "inception_v3": InceptionWorkload(
        name="inception_v3", title="Inception v3", config=InceptionConfig()
    )
}
