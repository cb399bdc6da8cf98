"""Networks of branches side by side, as `mbench.workloads.branches` plans them.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from megengine import functional as F
from megengine import module as M

from mbench.contract.compat import zipped
from mbench.workloads.branches import Conv, Head, Mixed, Pool
from mbench_megengine.layers import AveragePool, BasicConv2d, Dropout, MaxPool, pixels

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from megengine import Tensor

    from mbench.workloads.branches import BranchedConfig, Part
    from mbench_megengine.layers import Normalized

    Tensors = Mapping[str, Tensor]

__all__ = ["BranchedNet", "forward_of", "loss_of", "part"]


class BranchedNet(M.Module):
    """`auxiliary` makes an auxiliary classifier."""

    def __init__(self, config: BranchedConfig, auxiliary: Callable[..., M.Module]) -> None:
        super().__init__()
        self.names: list[tuple[str, bool]] = []
        before: Part | None = None
        for plan in config.parts():
            if isinstance(plan, Head):
                setattr(self, plan.name, auxiliary(config, plan))
            else:
                setattr(self, plan.name, part(config, plan, before))
            self.names.append((plan.name, isinstance(plan, Head)))
            before = plan
        self.dropout = Dropout(config.dropout)
        self.fc = M.Linear(config.features, config.classes)

    def forward(self, images: Tensor) -> Tensor | tuple[Tensor, ...]:
        """(B, C, H, W) -> (B, K); in training, a tuple of (B, K), those of auxiliary heads last."""
        x, outputs = images, []
        for name, head in self.names:
            if not head:
                x = getattr(self, name)(x)
            elif self.training:
                outputs.append(getattr(self, name)(x))
        logits = self.fc(self.dropout(pixels(x)))
        return (logits, *outputs) if self.training else logits


class MixedModule(M.Module):
    """Parallel branches, their outputs concatenated."""

    def __init__(self, config: Normalized, plan: Mixed, before: Part | None) -> None:
        super().__init__()
        for branch in plan.branches:
            for one in (*branch.row, *branch.ends):
                setattr(self, one.name, part(config, one, before))
        self.branches = [
            tuple([one.name for one in row] for row in (branch.row, branch.ends))
            for branch in plan.branches
        ]

    def forward(self, x: Tensor) -> Tensor:
        found = []
        for row, ends in self.branches:
            y = x
            for name in row:
                y = getattr(self, name)(y)
            found += [getattr(self, name)(y) for name in ends] if ends else [y]
        return F.concat(found, axis=1)


def part(config: Normalized, plan: Conv | Pool | Mixed, before: Part | None = None) -> M.Module:
    """`before` is the part before `plan`, or before the module that contains it."""
    if isinstance(plan, Mixed):
        return MixedModule(config, plan, before)
    if isinstance(plan, Conv):
        shape = plan.inputs, plan.outputs, plan.kernel
        return BasicConv2d(config, *shape, stride=plan.stride, padding=plan.margins)
    if plan.mean:
        return AveragePool(plan.size, stride=plan.stride, padding=plan.padding)
    ties = isinstance(before, Pool) and before.size > before.stride
    return MaxPool(
        plan.size, stride=plan.stride, padding=plan.padding, ceil=plan.ceil, ties=ties
    )  # fmt: skip


def forward_of(*heads: str) -> Callable[[M.Module, Tensors], dict[str, Tensor]]:
    """The forward pass of a BranchedNet; `heads` are the names of its auxiliary heads' logits.
    images (B, C, H, W) -> logits (B, K); in training, also those of auxiliary heads.
    """

    def forward(model: M.Module, batch: Tensors) -> dict[str, Tensor]:
        found = model(batch["images"])
        return dict(zipped(("logits", *heads), found)) if model.training else {"logits": found}

    return forward


def loss_of(weight: float) -> Callable[[Tensors, Tensors], Tensor]:
    """The loss to which each auxiliary head adds its own, times `weight`."""

    def loss(outputs: Tensors, batch: Tensors) -> Tensor:
        losses = {name: F.nn.cross_entropy(of, batch["labels"]) for name, of in outputs.items()}
        main = losses.pop("logits")
        first, *others = losses.values()
        return main + sum(others, first) * weight

    return loss
