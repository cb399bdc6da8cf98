"""Models that are proven in a moment: they have two small layers, in which matrix products are
nevertheless nearly all FLOPs. Their reference files are beside this file.

Usage: python tests/models/proven.py torch@PYTHON [MODEL ...]

This writes the reference files again, as `mbench new reference` does those of the zoo.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from mbench.contract.workload import Optimizer
from mbench.workloads import dit, dlrm, gpt2, llama, lstm, moe, vit
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
    proof={"batch_size": 2, "learning_rate": 2.0**-16},)  # fmt: skip


class Tied(moe.MoeWorkload):
    """Two experts of the first layer have the same score: the lower number is chosen."""

    def initial(self, tensor, *, seed):
        drawn = super().initial(tensor, seed=seed)
        if tensor.name == "model.layers.0.mlp.gate.weight":
            drawn[3] = drawn[1]
        return drawn


MOE = Tied(**{
    **vars(moe.MODELS["moe-9m"]),
    "name": "small-moe",
    "config": moe.MoeConfig(
        layers=2, hidden=256, heads=8, key_value_heads=2, intermediate=256, vocabulary=500,
        positions=64, sequence_length=32, prompt_length=21, new_tokens=11, tied=False, theta=1e4,
    ),
    "sizes": LLAMA.sizes,
    "proof": {"batch_size": 2, "learning_rate": 2.0**-16},
})  # fmt: skip

DLRM = replace(
    dlrm.MODELS["dlrm-small"],
    name="small-dlrm",
    config=dlrm.DlrmConfig(
        tables=(50, 40, 300), rows=300, bags=(2, 1, 3), width=16, bottom=(64, 16), top=(64, 1)
    ),
    sizes={},
    optimizer=Optimizer(rule="sgd", learning_rate=1e-2, momentum=0.9, weight_decay=0.1),
    proof={"batch_size": 4, "learning_rate": 2.0**-7},
)

VIT = replace(
    vit.MODELS["vit-ti-16"],
    name="small-vit",
    config=vit.ViTConfig(
        layers=2, hidden=256, heads=4, intermediate=1024, classes=100, image_size=64
    ),
    sizes={},
    proof={"batch_size": 2, "learning_rate": 2.0**-16},
)

MODELS = {model.name: model for model in (BERT, DIT, DLRM, GPT2, LLAMA, LSTM, MOE, VIT)}


if __name__ == "__main__":
    from mbench.plugins.manager import Plugins
    from mbench.proofs.write_reference import write_reference

    framework, *named = sys.argv[1:]
    longer = [form.name for model in MODELS.values() for form in model.lengthened().values()]
    for name in named or [*MODELS, *longer]:
        print(write_reference(name, framework, Plugins(), workload="proven:MODELS", report=print))
