"""Update rules: by MXNet's fused kernels, and composed where those are not exact enough."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from mxnet import nd

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.contract.workload import Optimizer

__all__ = ["RULES", "Slot"]


@dataclass(frozen=True)
class Slot:
    """A parameter, its gradient, its weight decay, and what the rule keeps between steps.

    A `mixed` slot has a float16 parameter; the last array in `kept` is its float32 copy.
    """

    weight: nd.NDArray
    gradient: nd.NDArray
    decay: float
    kept: tuple[nd.NDArray, ...]
    mixed: bool


class Rule:
    """Updates all slots; kernels take up to `aggregate` of them."""

    def __init__(self, spec: Optimizer, slots: Sequence[Slot], aggregate: int) -> None:
        self.spec = spec
        kinds = ([s for s in slots if s.mixed is mixed] for mixed in (False, True))
        self.groups = [
            same[at : at + aggregate] for same in kinds for at in range(0, len(same), aggregate)
        ]

    @staticmethod
    def states(spec: Optimizer) -> int:
        """How many arrays the rule keeps for each parameter."""
        raise NotImplementedError("a rule must define its state")

    def set_rate(self, rate: float) -> None:
        """Set the learning rate of later updates."""
        self.spec = replace(self.spec, learning_rate=rate)

    def __call__(self, scale: float | nd.NDArray, step: int) -> None:
        """Enqueue step number `step`, counted from 1; gradients are multiplied by `scale`."""
        for group in self.groups:
            self.update(group, scale, step)

    def update(self, group: Sequence[Slot], scale: float | nd.NDArray, step: int) -> None:
        raise NotImplementedError("a rule must define its step")


class Sgd(Rule):
    """Calls are prepared once, without keywords that have their default: MXNet turns each keyword
    into text for each parameter in each step, while its threads wait for a core.

    The kernels' velocity includes the learning rate of each step. The rule applies the current rate
    to all of it, so momentum is scaled with the rate in the step where it changes (Goyal et al.
    2017, "momentum correction").
    """

    growth = 1.0
    """By what factor the rate has changed since the last step."""

    def __init__(self, spec: Optimizer, slots: Sequence[Slot], aggregate: int) -> None:
        super().__init__(spec, slots, aggregate)
        self.kernels = [self.kernel(group) for group in self.groups]

    @staticmethod
    def states(spec: Optimizer) -> int:
        return 1 if spec.momentum else 0

    def set_rate(self, rate: float) -> None:
        before = self.spec.learning_rate
        if rate != before:
            super().set_rate(rate)
            self.growth *= rate / before if before else 1.0
            self.kernels = [self.kernel(group) for group in self.groups]

    def kernel(self, group: Sequence[Slot]) -> partial[Any]:
        """The call that updates `group`; it also accepts `rescale_grad`, and another momentum."""
        spec, first = self.spec, group[0]
        rest = {"momentum": spec.momentum} if spec.momentum else {}
        name = "sgd_mom_update" if spec.momentum else "sgd_update"
        if len(group) == 1 and not first.mixed:
            rest |= {"wd": first.decay} if first.decay else {}
            return partial(
                getattr(nd, name), first.weight, first.gradient, *first.kept, out=first.weight,
                lr=spec.learning_rate, **rest,
            )  # fmt: skip
        return partial(
            getattr(nd, f"multi_mp_{name}" if first.mixed else f"multi_{name}"),
            *(array for slot in group for array in (slot.weight, slot.gradient, *slot.kept)),
            out=[slot.weight for slot in group],
            num_weights=len(group),
            lrs=[spec.learning_rate] * len(group),
            wds=[slot.decay for slot in group],
            **rest,
        )

    def __call__(self, scale: float | nd.NDArray, step: int) -> None:
        if isinstance(scale, nd.NDArray):  # which the kernels do not take
            for slot in itertools.chain.from_iterable(self.groups):
                factor = scale.astype(slot.gradient.dtype, copy=False)
                nd.broadcast_mul(slot.gradient, factor, out=slot.gradient)
            scale = 1.0
        rest = {} if scale == 1.0 else {"rescale_grad": scale}
        if self.growth != 1.0 and self.spec.momentum:
            rest["momentum"] = self.growth * self.spec.momentum
        for kernel in self.kernels:
            kernel(**rest)
        self.growth = 1.0


class AdamW(Rule):
    """The kernel knows no correction of bias, so it is in the rate and the epsilon.

    m_hat / (sqrt(v_hat) + e) is c / b * m / (sqrt(v) + c * e), where b = 1 - beta1**step and
    c = sqrt(1 - beta2**step), with the betas as the kernel has them. (The kernel for several
    parameters rounds v to 1e-5 in the first steps; the one for one parameter does not.)
    """

    @staticmethod
    def states(spec: Optimizer) -> int:
        return 2

    def update(self, group: Sequence[Slot], scale: float | nd.NDArray, step: int) -> None:
        spec = self.spec
        beta1, beta2 = (float(np.float32(beta)) for beta in spec.betas)
        correction = math.sqrt(1 - beta2**step)
        rate = spec.learning_rate * correction / (1 - beta1**step)
        decays = [spec.learning_rate * slot.decay for slot in group]
        rest = {"beta1": beta1, "beta2": beta2, "epsilon": spec.epsilon * correction}
        first = group[0]
        if len(group) == 1 and not first.mixed:
            rest |= {"lr": rate, "wd": decays[0], "eta": 1.0, "rescale_grad": scale}
            nd.contrib.adamw_update(
                first.weight, first.gradient, *first.kept, out=first.weight, **rest
            )
            return
        kernel = nd.contrib.multi_mp_adamw_update if first.mixed else nd.contrib.multi_adamw_update
        weights = [slot.weight for slot in group]
        kernel(
            weights,
            [slot.gradient for slot in group],
            *zip(*(slot.kept for slot in group), strict=True),
            rescale_grad=scale,
            lrs=[rate] * len(group),
            wds=decays,
            etas=[1.0] * len(group),
            out=weights,
            **rest,
        )


class ExactSgd(Rule):
    """Composed, since the kernels take their constants as float32."""

    states = staticmethod(Sgd.states)

    def update(self, group: Sequence[Slot], scale: float | nd.NDArray, step: int) -> None:
        spec = self.spec
        for slot in group:
            weight = slot.weight
            velocity = slot.gradient * scale + slot.decay * weight
            for kept in slot.kept:
                kept *= spec.momentum
                kept += velocity
                velocity = kept
            weight -= spec.learning_rate * velocity


class ExactAdamW(AdamW):
    """Composed, since the kernels take their constants as float32."""

    def update(self, group: Sequence[Slot], scale: float | nd.NDArray, step: int) -> None:
        spec = self.spec
        beta1, beta2 = spec.betas
        for slot in group:
            weight, gradient = slot.weight, slot.gradient * scale
            mean, variance = slot.kept
            mean *= beta1
            mean += (1 - beta1) * gradient
            variance *= beta2
            variance += (1 - beta2) * gradient * gradient
            weight *= 1 - spec.learning_rate * slot.decay
            deviation = (variance / (1 - beta2**step)).sqrt() + spec.epsilon
            weight -= spec.learning_rate / (1 - beta1**step) * mean / deviation


RULES: dict[str, tuple[type[Rule], type[Rule]]] = {
    "sgd": (Sgd, ExactSgd),
    "adamw": (AdamW, ExactAdamW),
}
"""By the name of a rule: the one with kernels, and the exact one."""
