"""Self-attention by MXNet's own operators, whose single input holds queries, keys and values.

Shapes: B batch, L sequence, D hidden, H heads.
"""

# ruff: noqa: N803 (Gluon hands its operators over as F)

from __future__ import annotations

import math
from typing import Any

from mxnet import gluon
from mxnet.gluon import nn

__all__ = ["InterleavedAttention", "Part", "interleaved"]


class Part(gluon.HybridBlock):
    """The weight (D, D) and the bias (D) of queries, of keys or of values."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.weight = self.params.get("weight", shape=(hidden, hidden))
        self.bias = self.params.get("bias", shape=(hidden,))

    def hybrid_forward(self, F: Any, x: Any, weight: Any, bias: Any) -> tuple[Any, Any]:
        return weight, bias


class InterleavedAttention(gluon.HybridBlock):
    """All positions attend to all; one product computes all heads' queries, keys and values.

    On CPU the operators only have float32. In float64, attention is composed, from the same layout.
    """

    def __init__(self, hidden: int, heads: int, dropout: float) -> None:
        super().__init__()
        self._hidden, self._heads = hidden, heads
        self._exact = False
        self.query, self.key, self.value = Part(hidden), Part(hidden), Part(hidden)
        self.dropout = nn.Dropout(dropout)

    def cast(self, dtype: Any) -> None:
        self._exact = dtype == "float64"
        super().cast(dtype)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """(B, L, D) -> (B, L, D)."""
        own = [part(x) for part in (self.query, self.key, self.value)]
        weight, bias = (interleaved(F, tensors, self._heads) for tensors in zip(*own, strict=True))
        parts = F.FullyConnected(
            x.transpose((1, 0, 2)),
            weight.reshape((3 * self._hidden, self._hidden)),
            bias.reshape((3 * self._hidden,)),
            num_hidden=3 * self._hidden,
            flatten=False,
        )  # (L, B, 3 D)
        if self._exact:
            return self.composed(F, parts)
        parts = F.amp_cast(parts, dtype="float32")
        scores = F.contrib.interleaved_matmul_selfatt_qk(parts, heads=self._heads)  # (B * H, L, L)
        attended = F.contrib.interleaved_matmul_selfatt_valatt(
            parts, self.dropout(F.softmax(scores)), heads=self._heads
        )  # (L, B, D)
        return attended.transpose((1, 0, 2))

    def composed(self, F: Any, parts: Any) -> Any:
        """(L, B, 3 D) -> (B, L, D)."""
        heads = parts.reshape((0, 0, self._heads, 3, -1)).transpose((3, 1, 2, 0, 4))
        heads = heads.reshape((0, -3, 0, 0))  # (3, B * H, L, D/H)
        query, key, value = F.split(heads, num_outputs=3, axis=0, squeeze_axis=True)
        scale = math.sqrt(self._hidden // self._heads)
        scores = F.batch_dot(query / scale, key, transpose_b=True)
        attended = F.batch_dot(self.dropout(F.softmax(scores)), value)  # (B * H, L, D/H)
        attended = attended.reshape((-4, -1, self._heads, -2))  # (B, H, L, D/H)
        return attended.transpose((0, 2, 1, 3)).reshape((0, 0, -3))


def interleaved(F: Any, tensors: tuple[Any, ...], heads: int) -> Any:
    """Three of (D, ...) -> (H, 3, D/H, ...): head by head."""
    return F.stack(*(tensor.reshape((-4, heads, -1, -2)) for tensor in tensors), axis=1)
