"""A Llama whose MLPs are mixtures of experts (Jiang et al. 2024, "Mixtral of Experts").

Reference implementation: transformers' MixtralForCausalLM. For each token, a router chooses the
experts with the largest probabilities, and of equal ones those with lower numbers. No token is
dropped. Shapes: D hidden, E experts, F width of an expert.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mbench.contract.workload import Size, Tensor
from mbench.workloads.llama import LlamaConfig, LlamaWorkload, model

if TYPE_CHECKING:
    from mbench.contract.workload import ProofFields

__all__ = ["MODELS", "MoeConfig", "MoeWorkload"]


@dataclass(frozen=True, kw_only=True)
class MoeConfig(LlamaConfig):
    """Dimensions of Llama; `intermediate` is the width of one expert."""

    experts: int = 8
    chosen: int = 2
    """Experts chosen for a token."""


@dataclass(frozen=True, kw_only=True)
class MoeWorkload(LlamaWorkload):
    """The loss is the mean cross entropy alone, without a term that balances the experts. That is
    the default of transformers.
    """

    config: MoeConfig
    family: str = "moe"

    def tensors(self) -> list[Tensor]:
        found = []
        for tensor in super().tensors():
            at, _, leaf = tensor.name.partition(".mlp.")
            if not leaf:
                found.append(tensor)
            elif leaf == "gate_proj.weight":
                found += self.mixture(f"{at}.mlp", summed=self.summed())
        return found

    def summed(self) -> float:
        """The spread of weights that feed the residual sums."""
        return 0.02 * math.sqrt(3) / math.sqrt(2 * self.config.layers)

    def mixture(self, at: str, *, summed: float) -> list[Tensor]:
        """The router's scores have a standard deviation of about 1, so few are nearly equal."""
        config = self.config
        experts, hidden, width = config.experts, config.hidden, config.intermediate
        spread = 0.02 * math.sqrt(3)
        return [
            Tensor(f"{at}.gate.weight", (experts, hidden), math.sqrt(3 / hidden)),
            Tensor(f"{at}.experts.gate_up_proj", (experts, 2 * width, hidden), spread),
            Tensor(f"{at}.experts.down_proj", (experts, hidden, width), summed),
        ]

    def operations(self, batch_size: int, *, training: bool) -> list[str]:
        """None are listed: how many tokens an expert computes depends on the tokens."""
        return []

    def decode_operations(self, batch_size: int) -> list[str]:
        return []

    def countable(self) -> bool:
        """False: which experts compute depends on the tokens."""
        return False

    def read_numbers(self, batch_size: int) -> tuple[int, int]:
        """At least the experts of one token in each layer: all tokens may choose the same ones."""
        config = self.config
        weights, cached = super().read_numbers(batch_size)
        idle = config.experts - config.chosen
        each = 3 * config.hidden * config.intermediate
        return weights - config.new_tokens * config.layers * idle * each, cached

    def _token_flops(self) -> float:
        """Includes the router, and only the chosen experts."""
        config = self.config
        shared = config.key_value_heads * config.width
        experts = 3 * config.chosen * config.intermediate + config.experts
        each = config.hidden * (2 * config.hidden + 2 * shared + experts)
        return 2.0 * config.layers * each


def mixture(name: str, title: str, *, config: MoeConfig, proof: ProofFields) -> MoeWorkload:
    """`--size intermediate` makes experts narrower: with few layers, they are the largest part."""
    known = model(name, title, config=config, batch_sizes={"cpu": 1, "cuda": 1}, proof=proof)
    width = Size(standard=config.intermediate, most=config.intermediate)
    return MoeWorkload(**{**vars(known), "family": "moe", "stages": (),
                          "sizes": {**known.sizes, "intermediate": width}})  # fmt: skip


MODELS = {
    workload.name: workload
    for workload in (
        mixture(
            "moe-9m",
            "MoE 9M",
            config=MoeConfig(
                layers=4, hidden=256, heads=8, key_value_heads=2, intermediate=320,
                vocabulary=2048, positions=2048, sequence_length=256, prompt_length=64,
                new_tokens=32, tied=True, theta=1e6,
            ),
            proof={},
        ),
        mixture(
            "mixtral-8x7b",
            "Mixtral 8x7B",
            config=MoeConfig(
                layers=32, hidden=4096, heads=32, key_value_heads=8, intermediate=14336,
                vocabulary=32000, positions=32768, sequence_length=4096, prompt_length=512,
                new_tokens=128, tied=False, theta=1e6,
            ),
            proof={"sizes": {"vocabulary": 1024, "intermediate": 256}, "layers": 2},
        ),
    )
}  # fmt: skip
