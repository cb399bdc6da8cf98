"""Networks of branches side by side, as `mbench.workloads.branches` plans them.

Shapes: B batch, C channels, H W pixels, K classes.
"""

# ruff: noqa: B905 (a static graph does not support zip's `strict`)

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindspore import Tensor, nn, ops

from mbench.workloads.branches import Conv, Head, Mixed
from mbench_mindspore.layers import (
    DOT,
    AveragePool,
    BasicConv2d,
    Dense,
    Dropout,
    MaxPool,
    exact,
    pixels,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mbench.workloads.branches import BranchedConfig, Pool
    from mbench_mindspore.layers import Normalized

    Tensors = Mapping[str, Tensor]

__all__ = ["BranchedNet", "forward_of", "loss_of", "part"]


class BranchedNet(nn.Cell):
    """`auxiliary` makes an auxiliary classifier."""

    def __init__(self, config: BranchedConfig, auxiliary: Callable[..., nn.Cell]) -> None:
        super().__init__()
        parts, self.heads = [], []
        for plan in config.parts():
            make: Callable[..., Any] = auxiliary if isinstance(plan, Head) else part
            parts.append(make(config, plan))
            self.insert_child_to_cell(plan.name, parts[-1])
            self.heads.append(isinstance(plan, Head))
        self.parts = parts
        self.dropout = Dropout(config.dropout)
        self.fc = Dense(config.features, config.classes)

    def construct(self, images: Tensor) -> Tensor | tuple[Tensor, ...]:
        """(B, C, H, W) -> (B, K); in training, a tuple of (B, K), those of auxiliary heads last."""
        x, outputs = images, []
        for cell, head in zip(self.parts, self.heads):
            if not head:
                x = cell(x)
            elif self.training:
                outputs.append(cell(x))
        logits = self.fc(self.dropout(pixels(x)))
        return (logits, *outputs) if self.training else logits


class MixedCell(nn.Cell):
    """Parallel branches, their outputs concatenated."""

    def __init__(self, config: Normalized, plan: Mixed) -> None:
        super().__init__()
        self.branches = [
            tuple([self.added(config, one) for one in row] for row in (branch.row, branch.ends))
            for branch in plan.branches
        ]

    def added(self, config: Normalized, plan: Conv | Pool) -> nn.Cell:
        cell = part(config, plan)
        self.insert_child_to_cell(plan.name.replace(".", DOT), cell)
        return cell

    def construct(self, x: Tensor) -> Tensor:
        found = []
        for row, ends in self.branches:
            y = x
            for cell in row:
                y = cell(y)
            if ends:
                for end in ends:
                    found.append(end(y))
            else:
                found.append(y)
        return ops.cat(found, axis=1)


def part(config: Normalized, plan: Conv | Pool | Mixed) -> nn.Cell:
    if isinstance(plan, Mixed):
        return MixedCell(config, plan)
    if isinstance(plan, Conv):
        shape = plan.inputs, plan.outputs, plan.kernel
        return BasicConv2d(config, *shape, stride=plan.stride, padding=plan.margins)
    if plan.mean:
        return AveragePool(plan.size, stride=plan.stride, padding=plan.padding)
    return MaxPool(plan.size, stride=plan.stride, padding=plan.padding, ceil=plan.ceil)


def forward_of(*heads: str) -> Callable[[nn.Cell, Tensors], dict[str, Tensor]]:
    """The forward pass of a BranchedNet; `heads` are the names of its auxiliary heads' logits.
    images (B, C, H, W) -> logits (B, K); in training, also those of auxiliary heads.
    """

    def forward(model: nn.Cell, batch: Tensors) -> dict[str, Tensor]:
        if not model.training:
            return {"logits": model(batch["images"])}
        logits, *others = model(batch["images"])
        outputs = {"logits": logits}
        for head, found in zip(heads, others):
            outputs[head] = found
        return outputs

    return forward


def loss_of(weight: float, *heads: str) -> Callable[[Tensors, Tensors], Tensor]:
    """The loss to which each of these auxiliary heads adds its own, times `weight`."""
    factor, (first, *others) = exact(weight), heads

    def loss(outputs: Tensors, batch: Tensors) -> Tensor:
        main = ops.cross_entropy(outputs["logits"], batch["labels"])
        extra = ops.cross_entropy(outputs[first], batch["labels"])
        for head in others:
            extra = extra + ops.cross_entropy(outputs[head], batch["labels"])
        return main + extra * factor.astype(main.dtype)

    return loss
