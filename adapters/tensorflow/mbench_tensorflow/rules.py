"""Update rules: by TensorFlow's fused kernels, and composed where those are not exact enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import tensorflow as tf

from mbench_tensorflow.precision import HALVES, wide

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.contract.workload import Optimizer

__all__ = ["RULES", "Slot"]


@dataclass(frozen=True)
class Slot:
    """A parameter, its weight decay, and what the rule keeps between steps."""

    weight: tf.Variable
    decay: float
    kept: Sequence[tf.Variable]


class Rule:
    """Updates all slots."""

    def __init__(self, spec: Optimizer, slots: Sequence[Slot]) -> None:
        self.spec = spec
        self.slots = slots
        self.rate = tf.Variable(spec.learning_rate, trainable=False, dtype=tf.float64)

    def set_rate(self, rate: float) -> None:
        """Set the learning rate of later updates."""
        self.rate.assign(rate)

    @staticmethod
    def states(spec: Optimizer) -> int:
        """How many variables the rule keeps for each parameter."""
        raise NotImplementedError("a rule must define its state")

    def reset(self) -> None:
        for slot in self.slots:
            for kept in slot.kept:
                kept.assign(tf.zeros_like(kept))

    def apply(self, gradients: Sequence[tf.Tensor]) -> None:
        """Enqueue a step by the slots' gradients."""
        raise NotImplementedError("a rule must define its step")


class Sgd(Rule):
    """v = momentum * v + (gradient + weight_decay * w);  w -= learning_rate * v."""

    @staticmethod
    def states(spec: Optimizer) -> int:
        return 1 if spec.momentum else 0

    def apply(self, gradients: Sequence[tf.Tensor]) -> None:
        for slot, gradient in zip(self.slots, gradients, strict=True):
            weight, dtype = slot.weight, slot.weight.dtype
            if slot.decay:
                gradient += tf.constant(slot.decay, dtype) * weight
            rate = tf.cast(self.rate, dtype)
            if not slot.kept:
                tf.raw_ops.ResourceApplyGradientDescent(
                    var=weight.handle, alpha=rate, delta=gradient
                )
                continue
            tf.raw_ops.ResourceApplyMomentum(
                var=weight.handle,
                accum=slot.kept[0].handle,
                lr=rate,
                grad=gradient,
                momentum=tf.constant(self.spec.momentum, dtype),
            )


class AdamW(Rule):
    """Decoupled weight decay, then Adam, with epsilon added to the corrected second moment's root.

    The fused kernel computes w -= rate * m / (sqrt(v) + epsilon), so both bias corrections go into
    `rate` and `epsilon`.
    """

    def __init__(self, spec: Optimizer, slots: Sequence[Slot]) -> None:
        super().__init__(spec, slots)
        self._steps = tf.Variable(0, trainable=False, dtype=tf.int64)

    @staticmethod
    def states(spec: Optimizer) -> int:
        return 2

    def reset(self) -> None:
        super().reset()
        self._steps.assign(0)

    def apply(self, gradients: Sequence[tf.Tensor]) -> None:
        spec = self.spec
        steps = tf.cast(self._steps.assign_add(1), tf.float64)
        # In float64, since 1 - beta ** steps loses digits to cancellation.
        first, second = (1 - tf.pow(tf.constant(beta, tf.float64), steps) for beta in spec.betas)
        root = tf.sqrt(second)
        rate, epsilon = self.rate * root / first, spec.epsilon * root
        for slot, gradient in zip(self.slots, gradients, strict=True):
            weight = slot.weight
            if slot.decay:
                weight.assign(weight * tf.cast(1 - self.rate * slot.decay, weight.dtype))
            update = self._composed if weight.dtype in HALVES else self._fused
            update(slot, gradient, rate, epsilon)

    def _fused(self, slot: Slot, gradient: tf.Tensor, rate: tf.Tensor, epsilon: tf.Tensor) -> None:
        weight, dtype = slot.weight, slot.weight.dtype
        (m, v), (beta1, beta2) = slot.kept, self.spec.betas
        none = tf.constant(0, dtype)  # no bias correction by the kernel
        tf.raw_ops.ResourceApplyAdam(
            var=weight.handle,
            m=m.handle,
            v=v.handle,
            beta1_power=none,
            beta2_power=none,
            lr=tf.cast(rate, dtype),
            beta1=tf.constant(beta1, dtype),
            beta2=tf.constant(beta2, dtype),
            epsilon=tf.cast(epsilon, dtype),
            grad=gradient,
        )

    def _composed(
        self, slot: Slot, gradient: tf.Tensor, rate: tf.Tensor, epsilon: tf.Tensor
    ) -> None:
        """In float32: half precision stores the values, but cannot represent the kernel's 0.999."""
        weight, (first, second), (beta1, beta2) = slot.weight, slot.kept, self.spec.betas
        gradient, m, v = wide(gradient), wide(first), wide(second)
        m = beta1 * m + (1 - beta1) * gradient
        v = beta2 * v + (1 - beta2) * tf.square(gradient)
        change = tf.cast(rate, m.dtype) * m / (tf.sqrt(v) + tf.cast(epsilon, m.dtype))
        first.assign(tf.cast(m, first.dtype))
        second.assign(tf.cast(v, second.dtype))
        weight.assign(tf.cast(wide(weight) - change, weight.dtype))


RULES: dict[str, type[Rule]] = {"sgd": Sgd, "adamw": AdamW}
