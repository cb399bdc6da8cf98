"""Networks of branches side by side in Gluon, as `mbench.workloads.branches` plans them.

Shapes: B batch, H W pixels, K classes.
"""

# ruff: noqa: N803 (Gluon hands its operators over as F)

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mxnet import autograd, gluon
from mxnet.gluon import nn

from mbench.workloads.branches import Conv, Head, Mixed
from mbench_mxnet.layers import NormedConvolution, cross_entropy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mbench.workloads.branches import BranchedConfig, Pool
    from mbench_mxnet.layers import Normalized

__all__ = ["BranchedNet", "forward_of", "loss_of", "part"]


class BranchedNet(gluon.HybridBlock):
    """`auxiliary` makes an auxiliary classifier."""

    def __init__(self, config: BranchedConfig, auxiliary: Callable[..., gluon.HybridBlock]) -> None:
        super().__init__()
        self.parts = []
        for plan in config.parts():
            make: Callable[..., Any] = auxiliary if isinstance(plan, Head) else part
            block = make(config, plan)
            self.register_child(block, plan.name)
            self.parts.append((block, isinstance(plan, Head)))
        self.avgpool = nn.GlobalAvgPool2D()
        self.dropout = nn.Dropout(config.dropout)
        self.fc = nn.Dense(config.classes, in_units=config.features)

    def hybrid_forward(self, F: Any, images: Any) -> Any:
        """(B, 3, H, W) -> (B, K); in training, a list of (B, K), those of auxiliary heads last."""
        x, outputs = images, []
        for block, head in self.parts:
            if not head:
                x = block(x)
            elif autograd.is_training():
                outputs.append(block(x))
        logits = self.fc(self.dropout(self.avgpool(x)))
        return [logits, *outputs] if outputs else logits


class MixedBlock(gluon.HybridBlock):
    """Parallel branches, their outputs concatenated."""

    def __init__(self, config: Normalized, plan: Mixed) -> None:
        super().__init__()
        self.branches = [
            tuple([self.added(config, one) for one in row] for row in (branch.row, branch.ends))
            for branch in plan.branches
        ]

    def added(self, config: Normalized, plan: Conv | Pool) -> gluon.HybridBlock:
        block = part(config, plan)
        self.register_child(block, plan.name)
        return block

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        found = []
        for row, ends in self.branches:
            y = x
            for block in row:
                y = block(y)
            found += [end(y) for end in ends] if ends else [y]
        return F.concat(*found, dim=1)


def part(config: Normalized, plan: Conv | Pool | Mixed) -> gluon.HybridBlock:
    if isinstance(plan, Mixed):
        return MixedBlock(config, plan)
    if isinstance(plan, Conv):
        shape = plan.inputs, plan.outputs, plan.kernel
        return NormedConvolution(config, *shape, strides=plan.stride, padding=plan.padding)
    kind = nn.AvgPool2D if plan.mean else nn.MaxPool2D
    return kind(plan.size, strides=plan.stride, padding=plan.padding, ceil_mode=plan.ceil)


def forward_of(*heads: str) -> Callable[..., dict[str, Any]]:
    """The forward pass of a BranchedNet; `heads` are the names of its auxiliary heads' logits.
    images (B, 3, H, W) -> logits (B, K); in training, also those of auxiliary heads.
    """

    def forward(model: gluon.HybridBlock, batch: Mapping[str, Any]) -> dict[str, Any]:
        found = model(batch["images"])
        if not autograd.is_training():
            return {"logits": found}
        return dict(zip(("logits", *heads), found, strict=True))

    return forward


def loss_of(weight: float) -> Callable[..., Any]:
    """The loss to which each auxiliary head adds its own, times `weight`."""

    def loss(outputs: Mapping[str, Any], batch: Mapping[str, Any]) -> Any:
        losses = {name: cross_entropy(of, batch["labels"]) for name, of in outputs.items()}
        main = losses.pop("logits")
        first, *others = losses.values()
        return main + weight * sum(others, first)

    return loss
