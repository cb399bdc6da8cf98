"""A linear layer whose gradients are given. Shapes: B batch, N inputs, K outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddle import nn

if TYPE_CHECKING:
    from collections.abc import Mapping

    import paddle

    from mbench.workloads.given import GivenConfig

__all__ = ["build", "forward", "loss"]


class Given(nn.Layer):
    def __init__(self, config: GivenConfig) -> None:
        super().__init__()
        self.linear = nn.Linear(config.inputs, config.outputs)


def build(config: GivenConfig) -> nn.Layer:
    return Given(config)


def forward(model: nn.Layer, batch: Mapping[str, paddle.Tensor]) -> dict[str, paddle.Tensor]:
    """inputs (B, N) -> outputs (B, K)."""
    return {"outputs": model.linear(batch["inputs"])}


def loss(outputs: Mapping[str, paddle.Tensor], batch: Mapping[str, paddle.Tensor]) -> paddle.Tensor:
    """The mean over samples of the dot products of outputs and directions, both (B, K)."""
    found = outputs["outputs"]
    return (found * batch["directions"].astype(found.dtype)).sum(axis=1).mean()
