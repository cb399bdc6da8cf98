"""The update of a step: clipping, and one of megengine.optimizer's rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from megengine.optimizer import SGD, AdamW, clip_grad_norm

from mbench.sdk.optimizer import UpdateBase, find_rule, groups
from mbench_megengine.parameters import placed

if TYPE_CHECKING:
    from megengine.optimizer import Optimizer as Native

    from mbench.contract.workload import Optimizer

__all__ = ["Update"]


class Update(UpdateBase):
    """megengine.optimizer's own, whose rules and clipping are the documented ones.

    The optimizers update one tensor after another, by MegEngine's operations.
    """

    def build(self) -> None:
        make = find_rule(self.workload, RULES)
        own = [
            {"params": members, "weight_decay": decay}
            for decay, members in groups(self.workload, self.parameters)
        ]
        self.native = make(own, self.spec)
        kind = type(self.native).__name__
        self.differences = [
            f"megengine.optimizer.{kind} updates one tensor after another, by no fused kernel"
        ]

    def reset(self) -> None:
        for states in self.native._state.values():
            for state in states.values():
                state[...] = placed(np.zeros(state.shape))

    def __call__(self) -> None:
        """Update by the parameters' gradients, which are then cleared."""
        if self.spec.clip_norm is not None:
            clip_grad_norm(self.parameters.values(), self.spec.clip_norm)
        self.native.step().clear_grad()


def sgd(own: list[Any], spec: Optimizer) -> Native:
    return SGD(own, lr=spec.learning_rate, momentum=spec.momentum)


def adamw(own: list[Any], spec: Optimizer) -> Native:
    return AdamW(own, lr=spec.learning_rate, betas=spec.betas, eps=spec.epsilon)


RULES = {"sgd": sgd, "adamw": adamw}
