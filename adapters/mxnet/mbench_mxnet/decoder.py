"""Parts of Llama's layers that are also operators of their own; MXNet has no kernels for them.

Shapes: B batch, L sequence, D hidden, Q heads, H heads of keys and values, G query heads for each
of these, W width of a head.
"""

# ruff: noqa: N803 (Gluon hands its operators over as F)

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from mxnet import gluon

if TYPE_CHECKING:
    from mbench.workloads.llama import LlamaConfig

__all__ = ["RMSNorm", "attention", "rotated"]


class RMSNorm(gluon.HybridBlock):
    """In float32 at least, except for the product with the weight."""

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self._epsilon = config.epsilon
        self._half = False
        self.weight = self.params.get("weight", shape=(config.hidden,))

    def cast(self, dtype: Any) -> None:
        super().cast(dtype)
        self._half = np.dtype(dtype) == np.float16

    def hybrid_forward(self, F: Any, x: Any, weight: Any) -> Any:
        """(B, L, D) -> (B, L, D)."""
        own = x.astype("float32") if self._half else x
        scale = F.rsqrt(F.mean(F.square(own), axis=-1, keepdims=True) + self._epsilon)
        own = F.broadcast_mul(own, scale)
        return F.broadcast_mul(own.astype("float16") if self._half else own, weight)


def rotated(F: Any, x: Any, cosines: Any, sines: Any) -> Any:
    """(B, L, heads, W): channels i and i + W/2 are turned as a pair."""
    one, other = F.split(x, num_outputs=2, axis=3)
    return F.concat(
        F.broadcast_mul(one, cosines) - F.broadcast_mul(other, sines),
        F.broadcast_mul(other, cosines) + F.broadcast_mul(one, sines),
        dim=3,
    )


def attention(F: Any, query: Any, key: Any, value: Any, groups: int) -> Any:
    """(B H, G L, W), twice (B H, L, W) -> (B H, G L, W)."""
    scores = F.batch_dot(query, key, transpose_b=True)  # (B H, G L, L)
    scores = scores.reshape((0, -4, groups, -1, 0)).reshape((-3, 0, 0))  # (B Q, L, L)
    seen = F.contrib.arange_like(scores, axis=1, start=1).expand_dims(0)  # (1, L): 1 to L
    seen = F.broadcast_like(seen, scores, lhs_axes=(0,), rhs_axes=(0,)).astype("int32")
    weights = F.softmax(scores, seen, use_length=True)
    weights = weights.reshape((-4, -1, groups, 0, 0)).reshape((0, -3, 0))  # (B H, G L, L)
    return F.batch_dot(weights, value)
