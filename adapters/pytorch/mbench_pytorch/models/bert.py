"""BERT pre-training: transformers' BertForPreTraining, with only masked positions fed to the head
for masked words.

Shapes: B batch, L sequence, P predictions, D hidden, V vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.nn import functional
from transformers.models.bert.configuration_bert import BertConfig as NativeConfig
from transformers.models.bert.modeling_bert import BertForPreTraining

from mbench_pytorch.tiers import ATTENTION

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

    from mbench.workloads.bert import BertConfig

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

DIFFERENCES = (ATTENTION,)


def build(config: BertConfig) -> BertForPreTraining:
    return BertForPreTraining(
        NativeConfig(
            vocab_size=config.vocabulary,
            hidden_size=config.hidden,
            num_hidden_layers=config.layers,
            num_attention_heads=config.heads,
            intermediate_size=config.intermediate,
            hidden_act="gelu",  # the exact GELU
            hidden_dropout_prob=config.dropout,
            attention_probs_dropout_prob=config.dropout,
            max_position_embeddings=config.positions,
            type_vocab_size=config.token_types,
            layer_norm_eps=config.epsilon,
            pad_token_id=None,  # no padding: every row of the word embedding learns
            attn_implementation="sdpa",  # transformers' default
        )
    )


def forward(
    model: BertForPreTraining, batch: Mapping[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    """input_ids, token_type_ids (B, L), masked_positions (B, P) -> both heads' logits."""
    encoded = model.bert(batch["input_ids"], token_type_ids=batch["token_type_ids"])
    sequence = encoded.last_hidden_state  # (B, L, D)
    where = batch["masked_positions"].unsqueeze(-1).expand(-1, -1, sequence.shape[-1])  # (B, P, D)
    return {
        "mlm_logits": model.cls.predictions(sequence.gather(1, where)),  # (B, P, V)
        "nsp_logits": model.cls.seq_relationship(encoded.pooler_output),  # (B, 2)
    }


def loss(outputs: Mapping[str, torch.Tensor], batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
    masked = functional.cross_entropy(
        outputs["mlm_logits"].flatten(0, 1), batch["masked_labels"].flatten()
    )
    return masked + functional.cross_entropy(outputs["nsp_logits"], batch["next_sentence_labels"])
