"""Models that train in milliseconds: a BERT with the dropout and the clipping that image models
lack, a GPT-2 without dropout and an LSTM.
"""

from __future__ import annotations

from dataclasses import replace

from mbench.workloads import gpt2, lstm
from mbench.workloads.bert import BERT_BASE, BertConfig

__all__ = ["BERT", "GPT2", "LSTM"]

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
GPT2 = replace(
    gpt2.MODELS["gpt2-small"],
    name="small-gpt2",
    title="GPT-2 of two layers",
    config=gpt2.GPT2Config(
        layers=2, hidden=128, heads=2, vocabulary=1000, positions=64, sequence_length=32,
        dropout=0.0,
    ),
    sizes={},
    proof={"batch_size": 2, "learning_rate": 2.0**-16},
    mask_sizes={},
)  # fmt: skip
LSTM = replace(
    lstm.MODELS["lstm"],
    name="small-lstm",
    title="LSTM of two layers",
    config=lstm.LSTMConfig(layers=2, features=64, hidden=128, classes=100, sequence_length=16),
    sizes={},
    proof={"batch_size": 2, "learning_rate": 2.0**-16},
)
