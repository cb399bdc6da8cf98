"""BERT pre-training (Devlin et al. 2019, arXiv:1810.04805).

Reference implementation: transformers' BertForPreTraining, with the masked positions gathered
before the vocabulary head, as the original code does. Sequences are full, so there is no
attention mask. Shapes: B batch, L sequence, P predictions, D hidden, V vocabulary.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from mbench.contract.workload import Optimizer, Size, Tensor, Workload

if TYPE_CHECKING:
    import numpy as np

    from mbench.contract.workload import ProofFields

__all__ = ["BERT_BASE", "MODELS", "BertConfig", "BertWorkload"]

PROVEN_LAYERS = 12
"""A model with at most this many layers can be proven whole even when they are doubled."""


@dataclass(frozen=True, kw_only=True)
class BertConfig:
    """Dimensions of BERT. GELU is the exact one (erf); layer norm's epsilon is 1e-12."""

    layers: int = 12
    hidden: int = 768
    heads: int = 12
    intermediate: int = 3072
    vocabulary: int = 30522
    positions: int = 512
    token_types: int = 2
    sequence_length: int = 128
    predictions: int = 20
    dropout: float = 0.1
    epsilon: float = 1e-12

    def without_dropout(self) -> BertConfig:
        return dataclasses.replace(self, dropout=0.0)


@dataclass(frozen=True, kw_only=True)
class BertWorkload(Workload):
    """Masked language model and next sentence; the loss is the sum of both mean cross entropies."""

    config: BertConfig

    def tensors(self) -> list[Tensor]:
        config, found = self.config, []
        spread = 0.02 * math.sqrt(3)  # standard deviation 0.02, as published

        def linear(name: str, outputs: int, inputs: int) -> None:
            found.append(Tensor(f"{name}.weight", (outputs, inputs), spread))
            found.append(Tensor(f"{name}.bias", (outputs,), spread, decay=False))

        def norm(name: str) -> None:
            found.append(Tensor(f"{name}.weight", (config.hidden,), 0.1, 1.0, decay=False))
            found.append(Tensor(f"{name}.bias", (config.hidden,), 0.1, decay=False))

        hidden = config.hidden
        for table, rows in (
            ("word", config.vocabulary),
            ("position", config.positions),
            ("token_type", config.token_types),
        ):
            name = f"bert.embeddings.{table}_embeddings.weight"
            found.append(Tensor(name, (rows, hidden), spread))
        norm("bert.embeddings.LayerNorm")
        for layer in range(config.layers):
            at = f"bert.encoder.layer.{layer}"
            for projection in ("query", "key", "value"):
                linear(f"{at}.attention.self.{projection}", hidden, hidden)
            linear(f"{at}.attention.output.dense", hidden, hidden)
            norm(f"{at}.attention.output.LayerNorm")
            linear(f"{at}.intermediate.dense", config.intermediate, hidden)
            linear(f"{at}.output.dense", hidden, config.intermediate)
            norm(f"{at}.output.LayerNorm")
        linear("bert.pooler.dense", hidden, hidden)
        # Only the vocabulary head's bias is its own: its weight is the word embedding.
        found.append(Tensor("cls.predictions.bias", (config.vocabulary,), spread, decay=False))
        linear("cls.predictions.transform.dense", hidden, hidden)
        norm("cls.predictions.transform.LayerNorm")
        linear("cls.seq_relationship", 2, hidden)
        return found

    def resized(self, **sizes: int) -> Workload:
        found = super().resized(**sizes)
        config = cast("BertConfig", found.config)
        if config.predictions > config.sequence_length:
            raise ValueError(
                f"{self.name} predicts {config.predictions} of {config.sequence_length} tokens: "
                "make the sequence longer or reduce predictions"
            )
        return found

    def held_numbers(self, *, training: bool) -> int:
        config = self.config
        layers = config.layers * config.sequence_length * config.hidden if training else 0
        return layers + config.predictions * config.vocabulary

    def lengthened(self) -> dict[str, Workload]:
        if not self.stages:
            return {}
        layers = self.config.layers
        whole = layers <= PROVEN_LAYERS
        found = self.forms("encoder", layers, lambda more: {"layers": layers + more}, partly=whole)
        proof = self.proof if whole else {**self.proof, **FEW}
        return {name: form.replace(proof=proof) for name, form in found.items()}

    def operations(self, batch_size: int, *, training: bool) -> list[str]:
        """Leaves out dropout and the pooler's tanh."""
        config = self.config
        hidden, inner = config.hidden, config.intermediate
        tokens, predicted = batch_size * config.sequence_length, batch_size * config.predictions
        projection, sum_ = f"op:linear/{tokens}x{hidden}x{hidden}", f"op:add/{tokens}x{hidden}"
        norm = f"op:layer_norm/{tokens}x{hidden}"
        heads = f"{config.heads}x{hidden // config.heads}"
        layer = [
            *[projection] * 3,
            f"op:attention/{batch_size}x{config.sequence_length}x{heads}",
            *(projection, sum_, norm),
            f"op:linear/{tokens}x{hidden}x{inner}",
            f"op:gelu/{tokens}x{inner}",
            f"op:linear/{tokens}x{inner}x{hidden}",
            *(sum_, norm),
        ]
        found = [
            f"op:embedding/{tokens}x{config.vocabulary}x{hidden}",
            f"op:embedding/{tokens}x{config.token_types}x{hidden}",
            *(sum_, sum_, norm),
            *layer * config.layers,
            f"op:linear/{batch_size}x{hidden}x{hidden}",
            f"op:linear/{batch_size}x{hidden}x2",
            f"op:linear/{predicted}x{hidden}x{hidden}",
            f"op:gelu/{predicted}x{hidden}",
            f"op:layer_norm/{predicted}x{hidden}",
            f"op:linear/{predicted}x{hidden}x{config.vocabulary}",
        ]
        if training:
            found.append(f"op:cross_entropy/{predicted}x{config.vocabulary}")
            found.append(f"op:cross_entropy/{batch_size}x2")
        return found

    def masks(self) -> dict[str, float]:
        """Leaves out attention's own dropout, which drops attention weights, not outputs."""
        return {
            f"bert.encoder.layer.{layer}.{part}output.dense.bias": self.config.dropout
            for layer in range(self.config.layers)
            for part in ("attention.", "")
        }

    def batch(self, size: int, *, seed: int) -> dict[str, np.ndarray]:
        """All int64: input_ids, token_type_ids (B, L); masked_positions, masked_labels (B, P);
        next_sentence_labels (B,). Positions are distinct and ascending within a sequence.
        """
        import numpy as np

        from mbench.contract import generator

        config, key = self.config, f"data/{seed}"
        length, predictions = config.sequence_length, config.predictions
        shuffled = generator.permutations(f"{key}/positions", size, length)
        second = np.arange(length, dtype=np.int64) >= length // 2
        return {
            "input_ids": generator.tokens(
                f"{key}/input_ids", (size, length), below=config.vocabulary
            ),
            "token_type_ids": np.tile(second.astype(np.int64), (size, 1)),
            "masked_positions": np.sort(shuffled[:, :predictions], axis=1),
            "masked_labels": generator.tokens(
                f"{key}/masked_labels", (size, predictions), below=config.vocabulary
            ),
            "next_sentence_labels": generator.integers(f"{key}/next", (size,), below=2),
        }

    def forward_flops(self) -> float:
        config = self.config
        hidden, length = config.hidden, config.sequence_length
        projections = 4 * hidden * hidden + 2 * hidden * config.intermediate
        attention = 2 * length * hidden
        macs = config.layers * length * (projections + attention)
        macs += config.predictions * hidden * (hidden + config.vocabulary)
        macs += hidden * (hidden + 2)
        return 2.0 * macs


FEW: ProofFields = {"layers": 2}
"""For models that would not fit into 16 GB in float64: they are proven with fewer layers, like
larger GPT-2s."""


def model(
    name: str, title: str, config: BertConfig, *, batch: int, proof: ProofFields | None = None
) -> BertWorkload:
    return BertWorkload(
        name=name,
        title=title,
        family="bert",
        samples="sequences",
        sizes={
            "sequence_length": Size(standard=128, most=config.positions),
            "predictions": Size(standard=20, most=config.positions),
        },
        mask_sizes={"sequence_length": 1, "predictions": 1},
        batch_sizes={"cpu": batch, "cuda": 32},
        config=config,
        proof={
            "batch_size": 2,
            "sizes": {"sequence_length": 32},
            "learning_rate": 2.0**-16,
            **(proof or {}),
        },
        # Biases and layer norms have no weight decay, as in the original code.
        optimizer=Optimizer(rule="adamw", learning_rate=1e-7, weight_decay=1e-2, clip_norm=1.0),
        stages=("encoder",),
    )


MODELS = {
    workload.name: workload
    for workload in (
        model("bert-base", "BERT-Base pre-training", BertConfig(), batch=2),
        model(
            "bert-large",
            "BERT-Large pre-training",
            BertConfig(layers=24, hidden=1024, heads=16, intermediate=4096),
            batch=1,
            proof=FEW,
        ),
    )
}
BERT_BASE = MODELS["bert-base"]
