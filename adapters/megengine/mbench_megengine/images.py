"""What image classifiers share: their model files re-export these.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from megengine import functional as F

if TYPE_CHECKING:
    from collections.abc import Mapping

    from megengine import Tensor
    from megengine import module as M

__all__ = ["forward", "loss"]


def forward(model: M.Module, batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """images (B, C, H, W) -> logits (B, K)."""
    return {"logits": model(batch["images"])}


def loss(outputs: Mapping[str, Tensor], batch: Mapping[str, Tensor]) -> Tensor:
    return F.nn.cross_entropy(outputs["logits"], batch["labels"])
