"""Inception v3: torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.nn import functional
from torchvision.models.inception import Inception3

from mbench.workloads.inception import AUXILIARY_WEIGHT

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

    from mbench.workloads.inception import InceptionConfig

__all__ = ["build", "forward", "loss"]


def build(config: InceptionConfig) -> Inception3:
    return Inception3(num_classes=config.classes, init_weights=False, dropout=config.dropout)


def forward(model: Inception3, batch: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """images (B, C, H, W) -> logits (B, K); in training, also those of the auxiliary head."""
    if not model.training:
        return {"logits": model(batch["images"])}
    logits, auxiliary = model(batch["images"])
    return {"logits": logits, "aux_logits": auxiliary}


def loss(outputs: Mapping[str, torch.Tensor], batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
    main, auxiliary = (
        functional.cross_entropy(outputs[name], batch["labels"])
        for name in ("logits", "aux_logits")
    )
    return main + AUXILIARY_WEIGHT * auxiliary
