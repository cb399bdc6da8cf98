"""What image classifiers share: their model files re-export these.

Shapes: B batch, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mbench_mxnet.layers import cross_entropy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mxnet import gluon

__all__ = ["forward", "loss"]


def forward(model: gluon.HybridBlock, batch: Mapping[str, Any]) -> dict[str, Any]:
    """images (B, 3, H, W) -> logits (B, K)."""
    return {"logits": model(batch["images"])}


def loss(outputs: Mapping[str, Any], batch: Mapping[str, Any]) -> Any:
    return cross_entropy(outputs["logits"], batch["labels"])
