"""A mixture of experts as a causal language model: transformers' MixtralForCausalLM.

Shapes: B batch, L sequence, T tokens, D hidden, E experts, K of them chosen for a token,
V vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn import functional
from transformers.integrations.moe import ALL_EXPERTS_FUNCTIONS, grouped_mm_experts_forward
from transformers.models.mixtral.configuration_mixtral import MixtralConfig as NativeConfig
from transformers.models.mixtral.modeling_mixtral import (
    MixtralExperts,
    MixtralForCausalLM,
    MixtralTopKRouter,
)

from mbench_pytorch import decoder
from mbench_pytorch.decoder import advance, forward, loss, prefill, settings, with_exact_parts

if TYPE_CHECKING:
    from mbench.workloads.moe import MoeConfig

__all__ = ["DIFFERENCES", "advance", "build", "forward", "loss", "prefill"]

DIFFERENCES = (
    *decoder.DIFFERENCES,
    "experts are transformers' grouped_mm, each of the tokens that chose it (autocast leaves them "
    "in float32; in float64 they are transformers' loop)",
    "experts are chosen by a stable sort, because torch.topk breaks ties in any order",
)


EXPERTS = "grouped_mm or a loop"


def mixed(
    experts: MixtralExperts, x: torch.Tensor, numbers: torch.Tensor, weights: torch.Tensor
) -> torch.Tensor:
    """(T, D), numbers and weights of experts (T, K) -> (T, D): transformers' default kernel, except
    in float64, which that kernel does not support.
    """
    if x.dtype == torch.float64:
        return MixtralExperts.forward.__wrapped__(experts, x, numbers, weights)
    return grouped_mm_experts_forward(experts, x, numbers, weights)


ALL_EXPERTS_FUNCTIONS.register(EXPERTS, mixed)


class Router(MixtralTopKRouter):
    """transformers' router, except that float64 is not computed in float32."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """(T, D) -> scores (T, E), and weights and numbers of the chosen experts (T, K)."""
        scores = functional.linear(x, self.weight)
        return scores, *chosen(scores, self.top_k)


def chosen(scores: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(T, E) -> weights, which sum to 1, and numbers of the experts (T, K); of equal ones, the
    first. Weights are float32, or float64 if the scores are.
    """
    kind = torch.promote_types(scores.dtype, torch.float32)
    chances = functional.softmax(scores, dim=-1, dtype=kind)
    chances, numbers = torch.sort(chances, dim=-1, descending=True, stable=True)
    found = chances[:, :count]
    return found / found.sum(-1, keepdim=True), numbers[:, :count]


def build(config: MoeConfig) -> MixtralForCausalLM:
    """A model with input_ids (B, L) -> logits of the last positions (B, kept, V)."""
    native = NativeConfig(
        **settings(config),
        num_local_experts=config.experts,
        num_experts_per_tok=config.chosen,
        experts_implementation=EXPERTS,
    )
    model = MixtralForCausalLM(native)
    with_exact_parts(model, config)
    for layer in model.model.layers:
        layer.mlp.gate = Router(native)
    return model
