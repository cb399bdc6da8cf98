"""A BERT that trains in milliseconds, with the dropout and the clipping that image models lack."""

from __future__ import annotations

from dataclasses import replace

from mbench.workloads.bert import BERT_BASE, BertConfig

__all__ = ["BERT"]

BERT = replace(
    BERT_BASE,
    name="small-bert",
    title="BERT of two layers",
    config=BertConfig(
        layers=2, hidden=128, heads=2, intermediate=512, vocabulary=1000, positions=64,
        sequence_length=32, predictions=8,
    ),
    sizes={},
    proof={"batch_size": 2, "learning_rate": 2.0**-16},
    mask_sizes={},
)  # fmt: skip
