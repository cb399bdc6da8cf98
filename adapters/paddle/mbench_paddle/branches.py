"""Networks of branches side by side in paddle.nn, as `mbench.workloads.branches` plans them.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import paddle
from paddle import nn
from paddle.nn import functional as F

from mbench.workloads.branches import Conv, Head, Mixed
from mbench_paddle.layers import AveragePool, BasicConv2D, exactly

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mbench.workloads.branches import BranchedConfig, Pool
    from mbench_paddle.layers import Normalized

    Tensors = Mapping[str, paddle.Tensor]

__all__ = ["BranchedNet", "forward_of", "loss_of", "part"]


class BranchedNet(nn.Layer):
    """`auxiliary` makes an auxiliary classifier."""

    def __init__(self, config: BranchedConfig, auxiliary: Callable[..., nn.Layer]) -> None:
        super().__init__()
        self.parts = []
        for plan in config.parts():
            make: Callable[..., Any] = auxiliary if isinstance(plan, Head) else part
            layer = self.add_sublayer(plan.name, make(config, plan))
            self.parts.append((layer, isinstance(plan, Head)))
        self.dropout = nn.Dropout(config.dropout)
        self.fc = nn.Linear(config.features, config.classes)

    def forward(self, images: paddle.Tensor) -> paddle.Tensor | tuple[paddle.Tensor, ...]:
        """(B, C, H, W) -> (B, K); in training, a tuple of (B, K), those of auxiliary heads last."""
        x, outputs = images, []
        for layer, head in self.parts:
            if not head:
                x = layer(x)
            elif self.training:
                outputs.append(layer(x))
        logits = self.fc(self.dropout(x.mean([2, 3])))
        return (logits, *outputs) if self.training else logits


class MixedLayer(nn.Layer):
    """Parallel branches, their outputs concatenated."""

    def __init__(self, config: Normalized, plan: Mixed) -> None:
        super().__init__()
        self.branches = [
            tuple(
                [self.add_sublayer(one.name, part(config, one)) for one in row]
                for row in (branch.row, branch.ends)
            )
            for branch in plan.branches
        ]

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        found = []
        for row, ends in self.branches:
            y = x
            for layer in row:
                y = layer(y)
            found += [end(y) for end in ends] if ends else [y]
        return paddle.concat(found, axis=1)


def part(config: Normalized, plan: Conv | Pool | Mixed) -> nn.Layer:
    if isinstance(plan, Mixed):
        return MixedLayer(config, plan)
    if isinstance(plan, Conv):
        shape = plan.inputs, plan.outputs, plan.kernel
        return BasicConv2D(config, *shape, stride=plan.stride, padding=plan.margins)
    if plan.mean:
        return AveragePool(plan.size, stride=plan.stride, padding=plan.padding)
    return nn.MaxPool2D(
        plan.size, stride=plan.stride, padding=plan.padding, ceil_mode=plan.ceil
    )  # fmt: skip


def forward_of(*heads: str) -> Callable[[nn.Layer, Tensors], dict[str, paddle.Tensor]]:
    """The forward pass of a BranchedNet; `heads` are the names of its auxiliary heads' logits.
    images (B, C, H, W) -> logits (B, K); in training, also those of auxiliary heads.
    """

    def forward(model: nn.Layer, batch: Tensors) -> dict[str, paddle.Tensor]:
        if not model.training:
            return {"logits": model(batch["images"])}
        logits, *others = model(batch["images"])
        outputs = {"logits": logits}
        for number, head in enumerate(heads):
            outputs[head] = others[number]
        return outputs

    return forward


def loss_of(weight: float, *heads: str) -> Callable[[Tensors, Tensors], paddle.Tensor]:
    """The loss to which each of these auxiliary heads adds its own, times `weight`."""
    first, *others = heads

    def loss(outputs: Tensors, batch: Tensors) -> paddle.Tensor:
        main = F.cross_entropy(outputs["logits"], batch["labels"])
        extra = F.cross_entropy(outputs[first], batch["labels"])
        for head in others:
            extra = extra + F.cross_entropy(outputs[head], batch["labels"])
        return main + extra * exactly(weight, like=main)

    return loss
