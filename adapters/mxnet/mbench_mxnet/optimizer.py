"""The workload's update rule by MXNet's fused kernels, with clipping and loss scaling."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from mxnet import nd
from mxnet.contrib.amp.loss_scaler import LossScaler

from mbench.sdk.optimizer import UpdateBase, clip_factor, decays, find_rule
from mbench_mxnet.precision import is_exact
from mbench_mxnet.rules import RULES, Slot

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mxnet import gluon

    from mbench.contract.rank import RankInfo
    from mbench_mxnet.parallel import Exchange

__all__ = ["Update"]

AGGREGATE = {"gpu": 45, "cpu": 1}
"""How many parameters one kernel updates: on CUDA, as many as MXNet's own optimizers allow. On CPU,
kernels for several parameters are two to eight times slower than those for one."""


class Update(UpdateBase):
    """Backward pass, clipping and parameter update of one loss."""

    def build(self) -> None:
        self._exact = is_exact(self.precision)
        self._exchange: Exchange | None = None
        self._share = 1.0
        rule = find_rule(self.workload, RULES)[self._exact]
        self._slots = [
            slot(self.parameters[name], decay, rule.states(self.spec))
            for name, decay in decays(self.workload, self.parameters).items()
        ]
        aggregate = AGGREGATE[self.compiler.device.device_type]
        if self.spec.rule == "sgd":  # MXNet's own optimizers aggregate only for this rule
            aggregate = int(self.settings.get("aggregate", aggregate))
        self._make = partial(rule, self.spec, aggregate=aggregate)
        self._rule = self._make(self._slots)
        self._clip_norm = self.spec.clip_norm
        self._scaler = LossScaler() if self.precision.scales_loss else None
        if self._exact:
            self.differences = ["in fp64 the update is composed: the kernels' constants are fp32"]
        else:
            together = "one parameter" if aggregate == 1 else f"up to {aggregate} parameters"
            self.differences = [f"a fused kernel updates {together} at a time"]

    def exchange_among(self, place: RankInfo) -> None:
        """Update by the mean of several processes' gradients, which are added up between the
        backward pass and what follows it.
        """
        from mbench_mxnet import parallel  # only for several processes

        gradients = [slot.gradient for slot in self._slots]
        self._exchange = parallel.Exchange(gradients, place, exact=self._exact)
        self._share = 1 / place.ranks
        self.differences += self._exchange.differences

    def reset(self) -> None:
        """Also renews the float32 copies of float16 parameters."""
        for slot in self._slots:
            for kept in slot.kept:
                kept[:] = 0
            if slot.mixed:
                slot.kept[-1][:] = slot.weight.astype("float32")
        self._step = 0

    def set_learning_rate(self, rate: float) -> None:
        self._rule.set_rate(rate)

    def loss_scale(self) -> float:
        return 1.0 if self._scaler is None else float(self._scaler._next_loss_scale)

    def zero_gradients(self) -> None:
        """For gradients that backward passes add up."""
        for slot in self._slots:
            slot.gradient[:] = 0

    def backward(self, loss: nd.NDArray) -> None:
        """Enqueue the backward pass; its gradients overwrite earlier ones, or are added to them."""
        if self._scaler is None:
            loss.backward()
        else:
            loss.backward(nd.full((1,), self._scaler.loss_scale, ctx=loss.context))

    def advance(self) -> None:
        """Enqueue the update by the current gradients."""
        scale: float | nd.NDArray = self._share
        if self._scaler is not None:
            scale = self._share / self._scaler.loss_scale
        if self._exchange is not None:
            self._exchange()
        if self._scaler is not None and self._scaler.has_overflow(list(self.parameters.values())):
            return
        if self._clip_norm is not None:
            factor = clip_factor(self._clip_norm, self._norm() * scale)
            scale = factor.clip(0.0, 1.0) * scale
        self._step += 1
        self._rule(scale, self._step)

    def by(self, gradients: Mapping[str, nd.NDArray]) -> Callable[[], None]:
        """A function that enqueues an update by given gradients, without copying them."""
        given = zip(self._slots, (gradients[name] for name in self.parameters), strict=True)
        rule = self._make([replace(slot, gradient=gradient) for slot, gradient in given])

        def update() -> None:
            self._step += 1
            rule(1.0, self._step)

        return update

    def _norm(self) -> nd.NDArray:
        """The norm of all gradients together, shape (1,)."""
        if self._exact:  # the kernel's sums are in float32
            squares = [(slot.gradient * slot.gradient).sum() for slot in self._slots]
            return nd.add_n(*squares).sqrt()
        squares = []
        for mixed in (False, True):
            same = [slot.gradient for slot in self._slots if slot.mixed is mixed]
            if same:
                squares.append(nd.multi_sum_sq(*same, num_arrays=len(same)).sum())
        return nd.add_n(*squares).sqrt()


def slot(parameter: gluon.Parameter, decay: float, states: int) -> Slot:
    """A slot that keeps `states` arrays in the parameter's type. For float16 they are float32, and
    there is one more, for a float32 copy of the parameter.
    """
    weight = parameter.data()
    mixed = np.dtype(weight.dtype) == np.float16
    dtype = "float32" if mixed else weight.dtype
    kept = tuple(
        nd.zeros(weight.shape, ctx=weight.context, dtype=dtype) for _ in range(states + mixed)
    )
    return Slot(weight, parameter.grad(), decay, kept, bool(mixed))
