"""What image classifiers share: their model files re-export these.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddle.nn import functional as F

if TYPE_CHECKING:
    from collections.abc import Mapping

    import paddle
    from paddle import nn

__all__ = ["forward", "loss"]


def forward(model: nn.Layer, batch: Mapping[str, paddle.Tensor]) -> dict[str, paddle.Tensor]:
    """images (B, C, H, W) -> logits (B, K)."""
    return {"logits": model(batch["images"])}


def loss(outputs: Mapping[str, paddle.Tensor], batch: Mapping[str, paddle.Tensor]) -> paddle.Tensor:
    """Labels are class numbers (B,), or shares of classes (B, K)."""
    labels = batch["labels"]
    return F.cross_entropy(outputs["logits"], labels, soft_label=labels.is_floating_point())
