"""BERT pre-training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.sdk.networks.bert import forward
from mbench_tensorflow1.layers import UNFUSED_ATTENTION, Net, cross_entropy

if TYPE_CHECKING:
    import tensorflow as tf

    from mbench_tensorflow1.layers import Tensors

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

build = Net
DIFFERENCES = (UNFUSED_ATTENTION,)


def loss(outputs: Tensors, batch: Tensors) -> tf.Tensor:
    masked = cross_entropy(outputs["mlm_logits"], batch["masked_labels"])
    return masked + cross_entropy(outputs["nsp_logits"], batch["next_sentence_labels"])
