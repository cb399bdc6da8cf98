"""The workload's update rule by MXNet's fused kernels, with clipping and loss scaling."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from mxnet import nd

from mbench_mxnet.rules import RULES, Slot

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mxnet import gluon

    from mbench.workloads.workload import Workload
    from mbench_mxnet.precision import Precision

__all__ = ["Update"]

CLIP_EPSILON = 1e-6  # of the documented clipping, see mbench.workloads.workload.Optimizer
AGGREGATE = {"gpu": 45, "cpu": 1}
"""How many parameters one kernel updates: on CUDA as many as MXNet's own optimizers let one take.
On CPU kernels that take several are two to eight times slower than those that take one."""


class Update:
    """Backward pass, clipping and parameter update of one loss.

    `parameters` are the trainable ones by canonical name. Raises ValueError for a rule that it
    does not know.
    """

    def __init__(
        self, workload: Workload, parameters: Mapping[str, gluon.Parameter], precision: Precision
    ) -> None:
        spec = workload.optimizer
        if spec.rule not in RULES:
            raise ValueError(f"there is no optimizer {spec.rule!r}: {' and '.join(RULES)} are")
        rule = RULES[spec.rule][precision.exact]
        spared = {tensor.name for tensor in workload.tensors() if not tensor.decay}
        self._parameters = list(parameters.values())
        self._slots = [
            slot(parameter, 0.0 if name in spared else spec.weight_decay, rule.states(spec))
            for name, parameter in parameters.items()
        ]
        aggregate = AGGREGATE[self._slots[0].weight.context.device_type]
        self._rule = rule(spec, self._slots, aggregate)
        self._clip_norm = spec.clip_norm
        self._precision = precision
        if precision.exact:
            self.differences = ["in fp64 the update is composed: the kernels' constants are fp32"]
        else:
            together = "one parameter" if aggregate == 1 else f"up to {aggregate} parameters"
            self.differences = [f"a fused kernel updates {together} at a time"]
        self.reset()

    def reset(self) -> None:
        """Forget moments, step counts and the loss scale; copy float16 parameters anew."""
        for slot in self._slots:
            for kept in slot.kept:
                kept[:] = 0
            if slot.mixed:
                slot.kept[-1][:] = slot.weight.astype("float32")
        self._step = 0
        self._scaler = self._precision.scaler()

    def __call__(self, loss: nd.NDArray) -> None:
        """Enqueue the update; gradients overwrite those before."""
        scale: float | nd.NDArray = 1.0
        if self._scaler is None:
            loss.backward()
        else:
            scale = 1 / self._scaler.loss_scale
            loss.backward(nd.full((1,), self._scaler.loss_scale, ctx=loss.context))
            if self._scaler.has_overflow(self._parameters):
                return
        if self._clip_norm is not None:
            norm = self._norm() * scale
            scale = (self._clip_norm / (norm + CLIP_EPSILON)).clip(0.0, 1.0) * scale
        self._step += 1
        self._rule(scale, self._step)

    def _norm(self) -> nd.NDArray:
        """Of all gradients together, shape (1,)."""
        if self._precision.exact:  # the kernel's sums are in float32
            squares = [(slot.gradient * slot.gradient).sum() for slot in self._slots]
            return nd.add_n(*squares).sqrt()
        squares = []
        for mixed in (False, True):
            same = [slot.gradient for slot in self._slots if slot.mixed is mixed]
            if same:
                squares.append(nd.multi_sum_sq(*same, num_arrays=len(same)).sum())
        return nd.add_n(*squares).sqrt()


def slot(parameter: gluon.Parameter, decay: float, states: int) -> Slot:
    """With `states` arrays in the parameter's type, or in float32 where that is float16."""
    weight = parameter.data()
    mixed = np.dtype(weight.dtype) == np.float16
    dtype = "float32" if mixed else weight.dtype
    kept = tuple(
        nd.zeros(weight.shape, ctx=weight.context, dtype=dtype) for _ in range(states + mixed)
    )
    return Slot(weight, parameter.grad(), decay, kept, bool(mixed))
