"""BERT pre-training."""

from __future__ import annotations

from mbench.sdk.networks.bert import forward
from mbench_jax.layers import UNFUSED_ATTENTION, Array, Net, Tensors, cross_entropy

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

build = Net
DIFFERENCES = (UNFUSED_ATTENTION,)


def loss(outputs: Tensors, batch: Tensors) -> Array:
    masked = cross_entropy(outputs["mlm_logits"], batch["masked_labels"])
    return masked + cross_entropy(outputs["nsp_logits"], batch["next_sentence_labels"])
