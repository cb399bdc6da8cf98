"""VGG, with and without batch norm: torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.nn import functional
from torchvision.models.vgg import VGG, make_layers

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

    from mbench.workloads.vgg import VGGConfig

__all__ = ["build", "forward", "loss"]


def build(config: VGGConfig) -> VGG:
    layout: list[int | str] = []
    for blocks, width in zip(config.blocks, config.widths, strict=True):
        layout += [*[width] * blocks, "M"]  # M: max pooling
    return VGG(
        make_layers(layout, batch_norm=config.batch_norm),
        num_classes=config.classes,
        init_weights=False,
        dropout=config.dropout,
    )


def forward(model: VGG, batch: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """images (B, C, H, W) -> logits (B, K)."""
    return {"logits": model(batch["images"])}


def loss(outputs: Mapping[str, torch.Tensor], batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
    return functional.cross_entropy(outputs["logits"], batch["labels"])
