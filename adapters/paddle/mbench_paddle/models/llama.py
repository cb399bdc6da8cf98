"""Llama as a causal language model in paddle.nn; names as in transformers' LlamaForCausalLM.

Shapes: B batch, L sequence, D hidden.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddle import nn
from paddle.nn import functional as F

from mbench_paddle.decoder import (
    DIFFERENCES,
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

if TYPE_CHECKING:
    import paddle

    from mbench.workloads.llama import LlamaConfig

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


class MLP(nn.Layer):
    """SwiGLU."""

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.gate_proj = projection(config.hidden, config.intermediate)
        self.up_proj = projection(config.hidden, config.intermediate)
        self.down_proj = projection(config.intermediate, config.hidden)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        """(B, L, D) -> (B, L, D)."""
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


def build(config: LlamaConfig) -> nn.Layer:
    return Decoder(config, mlp=MLP)
