"""A dense layer whose gradients are given. Shapes: B batch, N inputs, K outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mxnet import gluon, nd, sym
from mxnet.gluon import nn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.workloads.given import GivenConfig

__all__ = ["build", "forward", "loss"]


class Given(gluon.HybridBlock):
    def __init__(self, config: GivenConfig) -> None:
        super().__init__()
        self.linear = nn.Dense(config.outputs, in_units=config.inputs)

    def hybrid_forward(self, F: Any, inputs: Any) -> Any:  # noqa: N803 (Gluon's name for it)
        """(B, N) -> (B, K)."""
        return self.linear(inputs)


def build(config: GivenConfig) -> gluon.HybridBlock:
    return Given(config)


def forward(model: gluon.HybridBlock, batch: Mapping[str, Any]) -> dict[str, Any]:
    """inputs (B, N) -> outputs (B, K)."""
    return {"outputs": model(batch["inputs"])}


def loss(outputs: Mapping[str, Any], batch: Mapping[str, Any]) -> Any:
    """The mean over samples of the dot products of outputs and directions, both (B, K)."""
    found = outputs["outputs"]
    F = nd if isinstance(found, nd.NDArray) else sym  # noqa: N806 (Gluon's name for it)
    found, directions = F.amp_multicast(found, batch["directions"], num_outputs=2)
    return (found * directions).sum(axis=1).mean()
