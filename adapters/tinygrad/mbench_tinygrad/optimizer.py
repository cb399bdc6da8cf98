"""The workload's update rule as tinygrad's own optimizers, with clipping."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tinygrad import Tensor, dtypes
from tinygrad.nn.optim import SGD, AdamW, OptimizerGroup

from mbench.sdk.optimizer import UpdateBase, clip_factor, find_rule, groups

if TYPE_CHECKING:
    from collections.abc import Sequence

KEPT = ("b1_t", "b2_t", "m", "v", "b")
"""Attributes of an optimizer that updates change: powers of the betas, moments, velocities."""


class Update(UpdateBase):
    def build(self) -> None:
        constants: dict[str, Any] = {"lr": self.spec.learning_rate}
        if self.spec.rule == "sgd":
            constants["momentum"] = self.spec.momentum
        else:
            constants |= {"b1": self.spec.betas[0], "b2": self.spec.betas[1]}
            constants["eps"] = self.spec.epsilon
        make = find_rule(self.workload, {"sgd": SGD, "adamw": AdamW})
        decays = groups(self.workload, self.parameters)
        made = [make(members, weight_decay=decay, **constants) for decay, members in decays]
        self.native = OptimizerGroup(*made)
        own = dtypes.double if self.precision.parameters == "float64" else dtypes.float32
        for optimizer in made:  # tinygrad keeps all in float32, whatever the parameters' type
            optimizer.lr = Tensor([self.spec.learning_rate], dtype=own).realize()
        for tensor in self.kept():
            tensor.replace(Tensor(tensor.numpy(), dtype=own).realize())

    def kept(self) -> Sequence[Tensor]:
        found = (getattr(one, name, []) for one in self.native.optimizers for name in KEPT)
        return [t for part in found for t in (part if isinstance(part, list) else (part,))]

    def __call__(self) -> list[Tensor]:
        """The tensors to realize for one update by the parameters' current gradients."""
        if self.spec.clip_norm is not None:
            gradients = [parameter.grad for parameter in self.parameters.values()]
            norm = sum(gradient.square().sum() for gradient in gradients).sqrt()
            factor = clip_factor(self.spec.clip_norm, norm).clip(0.0, 1.0)
            for parameter, gradient in zip(self.parameters.values(), gradients, strict=True):
                parameter.grad = gradient * factor
        return self.native.schedule_step()
