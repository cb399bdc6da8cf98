"""Llama as a causal language model: transformers' LlamaForCausalLM.

Shapes: B batch, L sequence, V vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from transformers.models.llama.configuration_llama import LlamaConfig as NativeConfig
from transformers.models.llama.modeling_llama import LlamaForCausalLM

from mbench_pytorch.decoder import (
    DIFFERENCES,
    advance,
    forward,
    loss,
    prefill,
    settings,
    with_exact_parts,
)

if TYPE_CHECKING:
    from mbench.workloads.llama import LlamaConfig

__all__ = ["DIFFERENCES", "advance", "build", "forward", "loss", "prefill"]


def build(config: LlamaConfig) -> LlamaForCausalLM:
    """A model with input_ids (B, L) -> logits of the last positions (B, kept, V)."""
    model = LlamaForCausalLM(NativeConfig(**settings(config)))
    with_exact_parts(model, config)
    return model
