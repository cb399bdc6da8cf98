"""GPT-2 as a causal language model (Radford et al. 2019).

Reference implementation: transformers' GPT2LMHeadModel. Layer norms come before attention and
MLP. Tokens attend to themselves and to those before them. Shapes: B batch, L sequence, D hidden,
V vocabulary.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mbench.contract.workload import Optimizer, Size, Tensor, Workload

if TYPE_CHECKING:
    import numpy as np

    from mbench.contract.workload import ProofFields

__all__ = ["MODELS", "GPT2Config", "GPT2Workload"]

# Decay on matrices and embeddings only; constants are those of GPT-2 in Karpathy's nanoGPT.
RECIPE = Optimizer(
    rule="adamw",
    learning_rate=1e-7,
    weight_decay=1e-1,
    betas=(0.9, 0.95),
    epsilon=1e-8,
    clip_norm=1.0,
)


@dataclass(frozen=True, kw_only=True)
class GPT2Config:
    """Dimensions of GPT-2. GELU is the tanh approximation; the MLP's width is 4 * `hidden`.

    GPT-2 benchmarks use half its context of 1024 tokens, and so does this one.
    """

    layers: int
    hidden: int
    heads: int
    vocabulary: int = 50257
    positions: int = 1024
    sequence_length: int = 512
    dropout: float = 0.1
    epsilon: float = 1e-5

    def without_dropout(self) -> GPT2Config:
        return dataclasses.replace(self, dropout=0.0)


@dataclass(frozen=True, kw_only=True)
class GPT2Workload(Workload):
    """The loss is the mean cross entropy of the next token, over all positions."""

    config: GPT2Config
    family: str = "gpt2"
    samples: str = "sequences"
    batch_sizes: dict[str, int] = field(default_factory=lambda: {"cpu": 1, "cuda": 8})
    optimizer: Optimizer = RECIPE

    def held_numbers(self, *, training: bool) -> int:
        config = self.config
        layers = config.layers * config.hidden if training else 0
        return config.sequence_length * (layers + config.vocabulary)

    def tensors(self) -> list[Tensor]:
        """Weights of projections are (in, out), as in the reference implementation."""
        config, found = self.config, []
        hidden = config.hidden
        spread = 0.02 * math.sqrt(3)  # standard deviation 0.02, as published
        # Weights that feed the residual sums start smaller, as published: two sums per layer.
        summed = spread / math.sqrt(2 * config.layers)

        def norm(name: str) -> None:
            found.append(Tensor(f"{name}.weight", (hidden,), 0.1, 1.0, decay=False))
            found.append(Tensor(f"{name}.bias", (hidden,), 0.1, decay=False))

        def projection(name: str, inputs: int, outputs: int, scale: float) -> None:
            found.append(Tensor(f"{name}.weight", (inputs, outputs), scale))
            found.append(Tensor(f"{name}.bias", (outputs,), spread, decay=False))

        # The token embedding is also the vocabulary head's weight.
        found.append(Tensor("transformer.wte.weight", (config.vocabulary, hidden), spread))
        found.append(Tensor("transformer.wpe.weight", (config.positions, hidden), spread))
        for layer in range(config.layers):
            at = f"transformer.h.{layer}"
            norm(f"{at}.ln_1")
            projection(f"{at}.attn.c_attn", hidden, 3 * hidden, spread)
            projection(f"{at}.attn.c_proj", hidden, hidden, summed)
            norm(f"{at}.ln_2")
            projection(f"{at}.mlp.c_fc", hidden, 4 * hidden, spread)
            projection(f"{at}.mlp.c_proj", 4 * hidden, hidden, summed)
        norm("transformer.ln_f")
        return found

    def masks(self) -> dict[str, float]:
        return {
            f"transformer.h.{layer}.{part}.c_proj.bias": self.config.dropout
            for layer in range(self.config.layers)
            for part in ("attn", "mlp")
        }

    def batch(self, size: int, *, seed: int) -> dict[str, np.ndarray]:
        """input_ids, labels: int64 (B, L); a label is the token that follows."""
        from mbench.contract import generator

        shape = (size, self.config.sequence_length + 1)
        tokens = generator.tokens(f"data/{seed}/tokens", shape, below=self.config.vocabulary)
        return {"input_ids": tokens[:, :-1].copy(), "labels": tokens[:, 1:].copy()}

    def forward_flops(self) -> float:
        """Attention counts in full, since it is computed before the mask."""
        config = self.config
        hidden, length = config.hidden, config.sequence_length
        per_token = config.layers * (12 * hidden * hidden + 2 * length * hidden)
        return 2.0 * length * (per_token + hidden * config.vocabulary)

    def masked_flops(self) -> float:
        config = self.config
        return 2.0 * config.layers * config.sequence_length**2 * config.hidden


def model(size: str, *, layers: int, hidden: int, heads: int, proof: ProofFields) -> GPT2Workload:
    config = GPT2Config(layers=layers, hidden=hidden, heads=heads)
    return GPT2Workload(
        name=f"gpt2-{size}",
        title=f"GPT-2 {size}",
        config=config,
        sizes={"sequence_length": Size(standard=512, most=config.positions)},
        mask_sizes={"sequence_length": 1},
        proof={"batch_size": 2, "learning_rate": 2.0**-16, **proof},
    )


FEW: ProofFields = {"sizes": {"sequence_length": 32}, "layers": 2}
"""For models whose parameters, gradients and moments take 11 to 50 GB in float64: they are proven
with the same layers, but fewer of them."""
MODELS = {
    workload.name: workload
    for workload in (
        model("small", layers=12, hidden=768, heads=12, proof={"sizes": {"sequence_length": 64}}),
        model("medium", layers=24, hidden=1024, heads=16, proof=FEW),
        model("large", layers=36, hidden=1280, heads=20, proof=FEW),
        model("xl", layers=48, hidden=1600, heads=25, proof=FEW),
    )
}
