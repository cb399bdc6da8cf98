"""A linear layer whose gradients are given. Shapes: B batch, N inputs, K outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from megengine import module as M

if TYPE_CHECKING:
    from collections.abc import Mapping

    from megengine import Tensor

    from mbench.workloads.given import GivenConfig

__all__ = ["build", "forward", "loss"]


class Given(M.Module):
    def __init__(self, config: GivenConfig) -> None:
        super().__init__()
        self.linear = M.Linear(config.inputs, config.outputs)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x)


def build(config: GivenConfig) -> M.Module:
    return Given(config)


def forward(model: M.Module, batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """inputs (B, N) -> outputs (B, K)."""
    return {"outputs": model(batch["inputs"])}


def loss(outputs: Mapping[str, Tensor], batch: Mapping[str, Tensor]) -> Tensor:
    """The mean over samples of the dot products of outputs and directions, both (B, K)."""
    return (outputs["outputs"] * batch["directions"]).sum(1).mean()
