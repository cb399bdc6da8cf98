"""Models that are proven in a moment: the reference files beside this file are those of two small
layers, in which products of matrices are nearly all FLOPs nevertheless.

Usage: python tests/models/proven.py torch@PYTHON [MODEL ...]

which writes them again, as `mbench new reference` does those of the zoo.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from mbench.workloads import dit, gpt2, llama, lstm, vit
from mbench.workloads.bert import BERT_BASE, BertConfig

__all__ = ["MODELS"]

BERT = replace(
    BERT_BASE,
    name="small-bert",
    config=BertConfig(
        layers=2, hidden=512, heads=8, intermediate=2048, vocabulary=1000, positions=64,
        sequence_length=32, predictions=8,
    ),
    proof={"batch_size": 2, "learning_rate": 2.0**-16},
    stages=("encoder",),
)  # fmt: skip

DIT = replace(
    dit.MODELS["dit-s-8"],
    name="small-dit",
    config=dit.DiTConfig(layers=2, hidden=256, heads=4, patch_size=2, classes=100, latent_size=8),
    sizes={},
    proof={"batch_size": 2, "learning_rate": 2.0**-16},
)

GPT2 = replace(
    gpt2.MODELS["gpt2-small"],
    name="small-gpt2",
    config=gpt2.GPT2Config(
        layers=2, hidden=512, heads=8, vocabulary=1000, positions=64, sequence_length=32
    ),
    proof={"batch_size": 2, "learning_rate": 2.0**-16},
)

LSTM = replace(
    lstm.MODELS["lstm"],
    name="small-lstm",
    config=lstm.LSTMConfig(layers=2, features=256, hidden=256, classes=10, sequence_length=8),
    sizes={},
    proof={"batch_size": 2, "learning_rate": 2.0**-16},
)

LLAMA = replace(
    llama.MODELS["llama-6m"],
    name="small-llama",
    config=llama.LlamaConfig(
        layers=2, hidden=512, heads=8, key_value_heads=2, intermediate=1024, vocabulary=1000,
        positions=64, sequence_length=32, prompt_length=21, new_tokens=11, tied=False, theta=1e4,
        scaling=llama.RotaryScaling(factor=8.0, original_positions=32),
    ),
    sizes={name: size for name, size in llama.MODELS["llama-6m"].sizes.items()
           if name != "vocabulary"},
    proof={"batch_size": 2, "learning_rate": 2.0**-16},
)  # fmt: skip

VIT = replace(
    vit.MODELS["vit-ti-16"],
    name="small-vit",
    config=vit.ViTConfig(
        layers=2, hidden=256, heads=4, intermediate=1024, classes=100, image_size=64
    ),
    sizes={},
    proof={"batch_size": 2, "learning_rate": 2.0**-16},
)

MODELS = {model.name: model for model in (BERT, DIT, GPT2, LLAMA, LSTM, VIT)}


if __name__ == "__main__":
    from mbench.plugins.manager import Plugins
    from mbench.proofs.write_reference import write_reference

    framework, *named = sys.argv[1:]
    longer = [form.name for model in MODELS.values() for form in model.lengthened().values()]
    for name in named or [*MODELS, *longer]:
        print(write_reference(name, framework, Plugins(), workload="proven:MODELS", report=print))
