"""GPT-2 as a causal language model: transformers' GPT2LMHeadModel.

Shapes: B batch, L sequence, D hidden, V vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn import functional
from transformers.models.gpt2.configuration_gpt2 import GPT2Config as NativeConfig
from transformers.models.gpt2.modeling_gpt2 import GPT2LMHeadModel

from mbench_pytorch.tiers import ATTENTION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.workloads.gpt2 import GPT2Config

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

DIFFERENCES = (ATTENTION,)


def build(config: GPT2Config) -> GPT2LMHeadModel:
    return GPT2LMHeadModel(
        NativeConfig(
            vocab_size=config.vocabulary,
            n_positions=config.positions,
            n_embd=config.hidden,
            n_layer=config.layers,
            n_head=config.heads,
            activation_function="gelu_new",  # the approximation by tanh
            resid_pdrop=config.dropout,
            embd_pdrop=config.dropout,
            attn_pdrop=config.dropout,
            layer_norm_epsilon=config.epsilon,
            attn_implementation="sdpa",  # transformers' default
        )
    )


def forward(model: GPT2LMHeadModel, batch: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """input_ids (B, L) -> logits (B, L, V).

    Block by block: the whole model's own forward first looks for several sequences packed into
    one, which makes the host wait for the device. Without a mask, attention is causal.
    """
    body, tokens = model.transformer, batch["input_ids"]
    positions = torch.arange(tokens.shape[1], device=tokens.device)
    hidden = body.drop(body.wte(tokens) + body.wpe(positions))  # (B, L, D)
    for block in body.h:
        hidden = block(hidden)
    return {"logits": model.lm_head(body.ln_f(hidden))}


def loss(outputs: Mapping[str, torch.Tensor], batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
    return functional.cross_entropy(outputs["logits"].flatten(0, 1), batch["labels"].flatten())
