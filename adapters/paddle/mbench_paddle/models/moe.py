"""A mixture of experts as a causal language model in paddle.nn; names as in MixtralForCausalLM.

Shapes: B batch, L sequence, T tokens, D hidden, E experts, K of them chosen for a token, F width
of an expert.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import paddle
from paddle import nn
from paddle.nn import functional as F

from mbench_paddle import decoder
from mbench_paddle.decoder import (
    Decoder,
    advance,
    forward,
    layers,
    loss,
    prefill,
    projection,
    read,
    room,
    take,
)
from mbench_paddle.precision import wide

if TYPE_CHECKING:
    from mbench.workloads.moe import MoeConfig

__all__ = [
    "DIFFERENCES",
    "advance",
    "build",
    "forward",
    "layers",
    "loss",
    "prefill",
    "read",
    "room",
    "take",
]

DIFFERENCES = (
    *decoder.DIFFERENCES,
    "experts are a loop, each of the tokens that chose it; of fewer choices than experts, products "
    "of the gathered weights",
    "experts are chosen by a stable sort, because paddle.topk breaks ties in any order",
)


class Mixture(nn.Layer):
    """Each token's experts, chosen by a router."""

    def __init__(self, config: MoeConfig) -> None:
        super().__init__()
        self.chosen = config.chosen
        self.gate = projection(config.hidden, config.experts)
        self.experts = Experts(config)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        """(B, L, D) -> (B, L, D)."""
        tokens = x.flatten(0, 1)
        weights, numbers = chosen(self.gate(tokens), self.chosen)
        return self.experts(tokens, weights.astype(x.dtype), numbers).reshape(x.shape)


class Experts(nn.Layer):
    """The experts: each is a SwiGLU."""

    def __init__(self, config: MoeConfig) -> None:
        super().__init__()
        self.count = config.experts
        hidden, width = config.hidden, config.intermediate
        self.gate_up_proj = self.create_parameter([config.experts, 2 * width, hidden])
        self.down_proj = self.create_parameter([config.experts, hidden, width])

    def forward(
        self, x: paddle.Tensor, weights: paddle.Tensor, numbers: paddle.Tensor
    ) -> paddle.Tensor:
        """(T, D), twice (T, K) -> (T, D)."""
        size, each = numbers.shape
        numbers = numbers.flatten()  # (T K)
        if size * each < self.count:
            rows = x.repeat_interleave(each, 0).unsqueeze(1)  # (T K, 1, D)
            first = paddle.gather(self.gate_up_proj, numbers)
            last = paddle.gather(self.down_proj, numbers)
            mixed = swiglu(rows, first, last)
        else:
            places = [paddle.nonzero(numbers == n).flatten() for n in range(self.count)]
            parts = [
                swiglu(paddle.gather(x, own // each), self.gate_up_proj[n], self.down_proj[n])
                for n, own in enumerate(places)
            ]
            order = paddle.argsort(paddle.concat(places))
            mixed = paddle.gather(paddle.concat(parts), order)
        return (mixed.reshape([size, each, -1]) * weights.unsqueeze(-1)).sum(1)


def chosen(scores: paddle.Tensor, count: int) -> tuple[paddle.Tensor, paddle.Tensor]:
    """(T, E) -> weights, which sum to 1, and numbers of the experts (T, K); of equal ones, the
    first. Weights are float32, or float64 if the scores are.
    """
    chances = F.softmax(wide(scores))
    order = paddle.argsort(chances, axis=-1, descending=True, stable=True)[:, :count]
    found = paddle.take_along_axis(chances, order, axis=1)
    return found / found.sum(-1, keepdim=True), order


def swiglu(x: paddle.Tensor, first: paddle.Tensor, last: paddle.Tensor) -> paddle.Tensor:
    """(..., T, D), (..., 2 F, D), (..., D, F) -> (..., T, D)."""
    gate, up = paddle.matmul(x, first, transpose_y=True).chunk(2, axis=-1)
    return paddle.matmul(F.silu(gate) * up, last, transpose_y=True)


def build(config: MoeConfig) -> nn.Layer:
    return Decoder(config, mlp=Mixture)
