"""A linear layer whose gradients are given. Shapes: B batch, N inputs, K outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tinygrad import Tensor, nn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.workloads.given import GivenConfig


def build(config: GivenConfig) -> dict[str, nn.Linear]:
    return {"linear": nn.Linear(config.inputs, config.outputs)}


def forward(model: dict[str, nn.Linear], batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """inputs (B, N) -> outputs (B, K)."""
    return {"outputs": model["linear"](batch["inputs"])}
