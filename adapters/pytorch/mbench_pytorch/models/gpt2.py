"""GPT-2 as a causal language model: transformers' GPT2LMHeadModel.

Shapes: B batch, L sequence, V vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.nn import functional
from transformers.models.gpt2.configuration_gpt2 import GPT2Config as NativeConfig
from transformers.models.gpt2.modeling_gpt2 import GPT2LMHeadModel

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

    from mbench.workloads.gpt2 import GPT2Config

__all__ = ["build", "forward", "loss"]


def build(config: GPT2Config) -> GPT2LMHeadModel:
    return GPT2LMHeadModel(
        NativeConfig(
            vocab_size=config.vocabulary,
            n_positions=config.positions,
            n_embd=config.hidden,
            n_layer=config.layers,
            n_head=config.heads,
            activation_function="gelu_new",  # the one by tanh
            resid_pdrop=config.dropout,
            embd_pdrop=config.dropout,
            attn_pdrop=config.dropout,
            layer_norm_epsilon=config.epsilon,
            use_cache=False,  # every step reads whole sequences
            attn_implementation="sdpa",  # transformers' default
        )
    )


def forward(model: GPT2LMHeadModel, batch: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """input_ids (B, L) -> logits (B, L, V)."""
    return {"logits": model(batch["input_ids"]).logits}


def loss(outputs: Mapping[str, torch.Tensor], batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
    return functional.cross_entropy(outputs["logits"].flatten(0, 1), batch["labels"].flatten())
