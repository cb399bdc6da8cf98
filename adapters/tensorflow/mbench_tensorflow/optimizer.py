"""The update of a step: clipping and loss scaling around one of the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf

from mbench.sdk.optimizer import UpdateBase, clip_factor, decays, find_rule
from mbench_tensorflow.own import RULES as OWN
from mbench_tensorflow.precision import wide
from mbench_tensorflow.rules import RULES, Slot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench_tensorflow.own import KerasRule
    from mbench_tensorflow.rules import Rule

__all__ = ["Update"]

INITIAL_SCALE, GROWTH_STEPS = 2.0**15, 2000  # as in keras.optimizers.LossScaleOptimizer


class Update(UpdateBase):
    """Clipping and parameter update by one step's gradients."""

    def build(self) -> None:
        self._clip_norm = self.spec.clip_norm
        self._scaler = LossScaler() if self.precision.scales_loss else None
        own = decays(self.workload, self.parameters)
        wide_enough = self.precision.mixed or not self.precision.half
        self._rule: Rule | KerasRule
        if self.settings.get("optimizer") == "keras" and wide_enough:
            self._rule = find_rule(self.workload, OWN)(self.spec, self.parameters, own)
            return
        rule = find_rule(self.workload, RULES)
        states = rule.states(self.spec)
        self._rule = rule(
            self.spec,
            [slot(self.parameters[name].value, decay, states) for name, decay in own.items()],
        )
        if wide_enough:
            self.differences = ["updates are TensorFlow's fused kernels, unlike Keras' own"]

    def reset(self) -> None:
        self._rule.reset()

    def set_learning_rate(self, rate: float) -> None:
        self._rule.set_rate(rate)

    def loss_scale(self) -> float:
        return 1.0 if self._scaler is None else float(self._scaler.scale)

    def scaled(self, loss: tf.Tensor) -> tf.Tensor:
        """What to differentiate instead of `loss`."""
        return loss if self._scaler is None else loss * self._scaler.scale

    def __call__(self, gradients: Sequence[tf.Tensor]) -> None:
        """Apply the gradients of the scaled loss, one for each parameter."""
        if self._scaler is None:
            self._apply(gradients)
            return
        finite = tf.reduce_all([tf.reduce_all(tf.math.is_finite(g)) for g in gradients])
        inverse = 1 / self._scaler.scale
        tf.cond(finite, lambda: self._apply(gradients, inverse), lambda: True)
        self._scaler.update(finite)

    def _apply(self, gradients: Sequence[tf.Tensor], factor: tf.Tensor | float = 1.0) -> bool:
        """Update by the gradients times `factor`; returns a value because tf.cond needs one."""
        if self._clip_norm is not None:
            norm = factor * tf.linalg.global_norm([wide(gradient) for gradient in gradients])
            factor *= tf.minimum(tf.ones_like(norm), clip_factor(self._clip_norm, norm))
        if tf.is_tensor(factor):
            gradients = [gradient * tf.cast(factor, gradient.dtype) for gradient in gradients]
        self._rule.apply(gradients)
        return True


class LossScaler:
    """Halves the scale at an overflow, doubles it after GROWTH_STEPS steps without one."""

    def __init__(self) -> None:
        self.scale = tf.Variable(INITIAL_SCALE, trainable=False)
        self._good_steps = tf.Variable(0, trainable=False, dtype=tf.int64)

    def update(self, finite: tf.Tensor) -> None:
        good_steps = tf.where(finite, self._good_steps + 1, 0)
        grow = good_steps == GROWTH_STEPS
        growth = tf.where(finite, tf.where(grow, 2.0, 1.0), 0.5)
        self.scale.assign(self.scale * growth)
        self._good_steps.assign(tf.where(grow, tf.zeros_like(good_steps), good_steps))


def slot(weight: tf.Variable, decay: float, states: int) -> Slot:
    kept = [tf.Variable(tf.zeros_like(weight), trainable=False) for _ in range(states)]
    return Slot(weight, decay, kept)
