"""A linear layer whose gradients are given. Shapes: B batch, N inputs, K outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindspore import nn

from mbench_mindspore.layers import Dense

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mindspore import Tensor

    from mbench.workloads.given import GivenConfig

__all__ = ["build", "forward", "loss"]


class Given(nn.Cell):
    def __init__(self, config: GivenConfig) -> None:
        super().__init__()
        self.linear = Dense(config.inputs, config.outputs)

    def construct(self, x: Tensor) -> Tensor:
        return self.linear(x)


def build(config: GivenConfig) -> nn.Cell:
    return Given(config)


def forward(model: nn.Cell, batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """inputs (B, N) -> outputs (B, K)."""
    return {"outputs": model(batch["inputs"])}


def loss(outputs: Mapping[str, Tensor], batch: Mapping[str, Tensor]) -> Tensor:
    """The mean over samples of the dot products of outputs and directions, both (B, K)."""
    return (outputs["outputs"] * batch["directions"]).sum(1).mean()
