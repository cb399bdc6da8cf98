"""The update of a step: clipping, and a rule of mindspore.nn, or one composed of operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindspore import ParameterTuple

from mbench.sdk.optimizer import UpdateBase, decays, find_rule
from mbench_mindspore.rules import EXACT, RULES, Clipped

if TYPE_CHECKING:
    from mindspore import Tensor

__all__ = ["Update"]


class Update(UpdateBase):
    """A cell that takes the gradients of all parameters, in their order."""

    def build(self) -> None:
        exact = self.precision.name == "fp64"
        rule = find_rule(self.workload, EXACT if exact else RULES)
        own = list(decays(self.workload, self.parameters).values())
        self.order = ParameterTuple(list(self.parameters.values()))
        self.native = rule(self.order, self.spec, own)
        self.cell = Clipped(self.native, self.spec.clip_norm)
        self.differences = list(self.native.DIFFERENCES)
        if self.spec.clip_norm is not None:
            self.differences.append(
                "gradients are clipped by MindSpore's operations, as documented"
            )

    def reset(self) -> None:
        self.native.restart()

    def __call__(self, gradients: tuple[Tensor, ...]) -> Tensor:
        return self.cell(gradients)
