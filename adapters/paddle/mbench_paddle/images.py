"""What classifiers of images share: their model files hand these out as their own.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import paddle
from paddle.nn import functional as F

if TYPE_CHECKING:
    from collections.abc import Mapping

    from paddle import nn

__all__ = ["forward", "loss"]


def forward(model: nn.Layer, batch: Mapping[str, paddle.Tensor]) -> dict[str, paddle.Tensor]:
    """images (B, C, H, W) -> logits (B, K)."""
    return {"logits": model(batch["images"])}


def loss(outputs: Mapping[str, paddle.Tensor], batch: Mapping[str, paddle.Tensor]) -> paddle.Tensor:
    """Labels are numbers of classes (B,), or shares of them (B, K)."""
    logits, labels = outputs["logits"], batch["labels"]
    if not labels.is_floating_point():
        return F.cross_entropy(logits, labels)
    if labels.dtype == paddle.float64:  # the kernel's gradient is that of shares of just 1 in all
        return -(labels * F.log_softmax(logits)).sum(-1).mean()
    return F.cross_entropy(logits, labels, soft_label=True)
