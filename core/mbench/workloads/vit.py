"""Vision transformers (Dosovitskiy et al. 2021, arXiv:2010.11929).

Reference implementation: torchvision.models.vision_transformer. ViT-Ti/16 and ViT-S/16, which it
does not name, are its VisionTransformer with the dimensions of DeiT (Touvron et al. 2021,
arXiv:2012.12877), as in timm.
Shapes: B batch, P patches, L = P + 1 positions, D hidden, K classes.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from mbench.contract.workload import Optimizer, Size, Tensor
from mbench.workloads.images import Convolution, ImageWorkload, LayerNorm, Linear

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mbench.contract.workload import Workload
    from mbench.workloads.images import Layer

__all__ = ["MODELS", "ViTConfig", "ViTWorkload"]

# torchvision's settings for ViT-B/16, with weight decay on every parameter.
RECIPE = Optimizer(
    rule="adamw", learning_rate=1e-7, weight_decay=0.3, epsilon=1e-8, clip_norm=1.0
)  # fmt: skip


@dataclass(frozen=True)
class Table:
    """A learned tensor that is added or prepended, not multiplied by."""

    name: str
    shape: tuple[int, ...]
    auxiliary: bool = False

    def tensors(self) -> Iterator[Tensor]:
        yield Tensor(self.name, self.shape, 0.02 * math.sqrt(3))  # standard deviation 0.02

    def macs(self) -> int:
        return 0


@dataclass(frozen=True)
class SelfAttention:
    """Queries, keys and values from one projection, in this order, each for all heads."""

    name: str
    hidden: int
    length: int
    auxiliary: bool = False

    def tensors(self) -> Iterator[Tensor]:
        spread = 1 / math.sqrt(self.hidden)
        yield Tensor(f"{self.name}.in_proj_weight", (3 * self.hidden, self.hidden), spread)
        yield Tensor(f"{self.name}.in_proj_bias", (3 * self.hidden,), spread)
        yield from Linear(f"{self.name}.out_proj", self.hidden, self.hidden).tensors()

    def macs(self) -> int:
        """Four projections, and two products of each position with all others."""
        return self.length * (4 * self.hidden**2 + 2 * self.length * self.hidden)


@dataclass(frozen=True, kw_only=True)
class ViTConfig:
    """Dimensions of a vision transformer. GELU is the exact one (erf); there is no dropout."""

    layers: int
    hidden: int
    heads: int
    intermediate: int
    patch_size: int = 16
    classes: int = 1000
    image_size: int = 224
    epsilon: float = 1e-6

    @property
    def side(self) -> int:
        """Patches per side."""
        return self.image_size // self.patch_size

    @property
    def length(self) -> int:
        """Positions: the class token and all patches."""
        return 1 + self.side**2

    def without_dropout(self) -> ViTConfig:
        return dataclasses.replace(self)


@dataclass(frozen=True, kw_only=True)
class ViTWorkload(ImageWorkload):
    """Its table of positions has one row per patch, so it depends on the image's size."""

    family: str = "vit"
    config: ViTConfig
    optimizer: Optimizer = RECIPE

    def resized(self, **sizes: int) -> Workload:
        found = super().resized(**sizes)
        config = cast("ViTConfig", found.config)
        if config.image_size % config.patch_size:
            raise ValueError(
                f"image_size of {self.name} must be a multiple of {config.patch_size}, "
                f"the patch size, not {config.image_size}"
            )
        return found

    def layers(self) -> Iterator[Layer]:
        config = self.config
        hidden, length, patch = config.hidden, config.length, config.patch_size
        yield Table("class_token", (1, 1, hidden))
        yield Convolution("conv_proj", 3, hidden, patch, config.side**2, bias=True)
        yield Table("encoder.pos_embedding", (1, length, hidden))
        for layer in range(config.layers):
            at = f"encoder.layers.encoder_layer_{layer}"
            yield LayerNorm(f"{at}.ln_1", hidden)
            yield SelfAttention(f"{at}.self_attention", hidden, length)
            yield LayerNorm(f"{at}.ln_2", hidden)
            yield Linear(f"{at}.mlp.0", hidden, config.intermediate, positions=length)
            yield Linear(f"{at}.mlp.3", config.intermediate, hidden, positions=length)
        yield LayerNorm("encoder.ln", hidden)
        yield Linear("heads.head", hidden, config.classes)

    def held_numbers(self, *, training: bool) -> int:
        config = self.config
        return config.layers * config.length * config.hidden if training else 0

    def operations(self, batch_size: int, *, training: bool) -> list[str]:
        """Leaves out prepending the class token to the patches."""
        config = self.config
        hidden, inner, length = config.hidden, config.intermediate, config.length
        tokens, pixels = batch_size * length, config.image_size
        norm, added = f"op:layer_norm/{tokens}x{hidden}", f"op:add/{tokens}x{hidden}"
        heads = f"{config.heads}x{hidden // config.heads}"
        layer = [
            norm,
            f"op:linear/{tokens}x{hidden}x{3 * hidden}",
            f"op:attention/{batch_size}x{length}x{heads}",
            f"op:linear/{tokens}x{hidden}x{hidden}",
            *(added, norm),
            f"op:linear/{tokens}x{hidden}x{inner}",
            f"op:gelu/{tokens}x{inner}",
            f"op:linear/{tokens}x{inner}x{hidden}",
            added,
        ]
        patch = config.patch_size
        found = [
            f"op:conv2d/{batch_size}x3x{pixels}x{pixels}-o{hidden}-k{patch}-s{patch}",
            *(added, *layer * config.layers, norm),
            f"op:linear/{batch_size}x{hidden}x{config.classes}",
        ]
        if training:
            found.append(f"op:cross_entropy/{batch_size}x{config.classes}")
        return found


def model(name: str, title: str, *, hidden: int, heads: int) -> ViTWorkload:
    config = ViTConfig(layers=12, hidden=hidden, heads=heads, intermediate=4 * hidden)
    return ViTWorkload(
        name=name,
        title=title,
        config=config,
        sizes={"image_size": Size(standard=224, least=config.patch_size)},
        proof={"batch_size": 2, "sizes": {"image_size": 64}, "learning_rate": 2.0**-16},
    )


MODELS = {
    workload.name: workload
    for workload in (
        model("vit-ti-16", "ViT-Ti/16", hidden=192, heads=3),
        model("vit-s-16", "ViT-S/16", hidden=384, heads=6),
        model("vit-b-16", "ViT-B/16", hidden=768, heads=12),
    )
}
