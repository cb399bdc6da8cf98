"""A BERT that is proven in a moment: the fingerprint beside this file is that of two small layers,
in which products of matrices are nearly all FLOPs nevertheless.

Usage: PYTHONPATH=tests python tests/proven.py torch@PYTHON

which writes it anew, as mbench.equality.regenerate does those of the zoo.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from mbench.workloads.bert import BERT_BASE, BertConfig

__all__ = ["BERT"]

BERT = replace(
    BERT_BASE,
    name="small-bert",
    config=BertConfig(
        layers=2, hidden=512, heads=8, intermediate=2048, vocabulary=1000, positions=64,
        sequence_length=32, predictions=8,
    ),
    sizes={},
    mask_sizes={},
    proof={"batch_size": 2, "learning_rate": 1e-6},
)  # fmt: skip


if __name__ == "__main__":
    from mbench.equality import regenerate  # not in a worker, which has fewer packages

    regenerate.main(sys.argv[1], BERT.name, workload="proven:BERT")
