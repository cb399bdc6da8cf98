"""GoogLeNet: torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.nn import functional
from torchvision.models.googlenet import GoogLeNet

from mbench.workloads.googlenet import AUXILIARY_WEIGHT

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

    from mbench.workloads.googlenet import GoogLeNetConfig

__all__ = ["build", "forward", "loss"]


def build(config: GoogLeNetConfig) -> GoogLeNet:
    return GoogLeNet(
        num_classes=config.classes,
        init_weights=False,
        dropout=config.dropout,
        dropout_aux=config.auxiliary_dropout,
    )


def forward(model: GoogLeNet, batch: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """images (B, C, H, W) -> logits (B, K); in training, also those of both auxiliary heads."""
    if not model.training:
        return {"logits": model(batch["images"])}
    logits, second, first = model(batch["images"])
    return {"logits": logits, "aux1_logits": first, "aux2_logits": second}


def loss(outputs: Mapping[str, torch.Tensor], batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
    main, first, second = (
        functional.cross_entropy(outputs[name], batch["labels"])
        for name in ("logits", "aux1_logits", "aux2_logits")
    )
    return main + AUXILIARY_WEIGHT * (first + second)
