"""What image classifiers share: their model files re-export these.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindspore import ops

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mindspore import Tensor, nn

__all__ = ["forward", "loss"]


def forward(model: nn.Cell, batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """images (B, C, H, W) -> logits (B, K)."""
    return {"logits": model(batch["images"])}


def loss(outputs: Mapping[str, Tensor], batch: Mapping[str, Tensor]) -> Tensor:
    return ops.cross_entropy(outputs["logits"], batch["labels"])
