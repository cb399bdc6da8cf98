"""The workload's update rule by TensorFlow's fused kernels, with clipping and loss scaling."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf

from mbench_tensorflow.precision import HALVES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.workloads.workload import Optimizer, Workload
    from mbench_tensorflow.precision import Precision

__all__ = ["Update"]

CLIP_EPSILON = 1e-6  # mbench.workloads.workload.Optimizer documents the clipping
INITIAL_SCALE, GROWTH_STEPS = 2.0**15, 2000  # as keras.optimizers.LossScaleOptimizer has them


class Update:
    """Clipping and parameter update by one step's gradients.

    `parameters` are the trainable ones by canonical name.
    """

    def __init__(
        self, workload: Workload, parameters: Mapping[str, tf.Variable], precision: Precision
    ) -> None:
        self._clip_norm = workload.optimizer.clip_norm
        self._scaler = LossScaler() if precision.scaled else None
        self._optimizer = build(workload, parameters)
        self.differences = []
        if precision.parameters not in HALVES:
            self.differences.append("updates are TensorFlow's fused kernels, unlike Keras' own")
        self.reset()

    def reset(self) -> None:
        """Set moments, step counts and the loss scale back."""
        self._optimizer.reset()
        if self._scaler is not None:
            self._scaler.reset()

    def scaled(self, loss: tf.Tensor) -> tf.Tensor:
        """What to differentiate in place of `loss`."""
        return loss if self._scaler is None else loss * self._scaler.scale

    def __call__(self, gradients: Sequence[tf.Tensor | tf.IndexedSlices]) -> None:
        """Apply the gradients of the scaled loss, one for each parameter."""
        # Dense: rows of an embedding that no sample touched have moments and decay too.
        dense = [tf.convert_to_tensor(gradient) for gradient in gradients]
        if self._scaler is None:
            self._apply(dense)
            return
        finite = tf.reduce_all([tf.reduce_all(tf.math.is_finite(g)) for g in dense])
        inverse = 1 / self._scaler.scale
        tf.cond(finite, lambda: self._apply(dense, inverse), lambda: True)
        self._scaler.update(finite)

    def _apply(self, gradients: list[tf.Tensor], factor: tf.Tensor | float = 1.0) -> bool:
        """Update by the gradients times `factor`; returns a value for tf.cond's sake."""
        if self._clip_norm is not None:
            norm = factor * tf.linalg.global_norm([wide(gradient) for gradient in gradients])
            factor *= tf.minimum(tf.ones_like(norm), self._clip_norm / (norm + CLIP_EPSILON))
        if tf.is_tensor(factor):
            gradients = [gradient * tf.cast(factor, gradient.dtype) for gradient in gradients]
        self._optimizer.apply(gradients)
        return True


class LossScaler:
    """Halves the scale at an overflow, doubles it after many steps without one."""

    def __init__(self) -> None:
        self.scale = tf.Variable(INITIAL_SCALE, trainable=False)
        self._good_steps = tf.Variable(0, trainable=False, dtype=tf.int64)

    def reset(self) -> None:
        self.scale.assign(INITIAL_SCALE)
        self._good_steps.assign(0)

    def update(self, finite: tf.Tensor) -> None:
        good_steps = tf.where(finite, self._good_steps + 1, 0)
        grow = good_steps == GROWTH_STEPS
        growth = tf.where(finite, tf.where(grow, 2.0, 1.0), 0.5)
        self.scale.assign(self.scale * growth)
        self._good_steps.assign(tf.where(grow, tf.zeros_like(good_steps), good_steps))


class Sgd:
    """v = momentum * v + (gradient + weight_decay * w);  w -= learning_rate * v."""

    def __init__(
        self, spec: Optimizer, parameters: Sequence[tf.Variable], decays: Sequence[float]
    ) -> None:
        self._spec = spec
        self._parameters = parameters
        self._decays = decays
        self._velocities = slots(parameters) if spec.momentum else []

    def reset(self) -> None:
        clear(self._velocities)

    def apply(self, gradients: Sequence[tf.Tensor]) -> None:
        spec = self._spec
        pairs = zip(self._parameters, gradients, strict=True)
        for index, (parameter, gradient) in enumerate(pairs):
            dtype = parameter.dtype
            if self._decays[index]:
                gradient += tf.constant(self._decays[index], dtype) * parameter
            rate = tf.constant(spec.learning_rate, dtype)
            if not spec.momentum:
                tf.raw_ops.ResourceApplyGradientDescent(
                    var=parameter.handle, alpha=rate, delta=gradient
                )
                continue
            tf.raw_ops.ResourceApplyMomentum(
                var=parameter.handle,
                accum=self._velocities[index].handle,
                lr=rate,
                grad=gradient,
                momentum=tf.constant(spec.momentum, dtype),
            )


class AdamW:
    """Decoupled weight decay, then Adam with the epsilon beside the corrected second moment.

    The fused kernel computes w -= rate * m / (sqrt(v) + epsilon), so both bias corrections go
    into `rate` and `epsilon`.
    """

    def __init__(
        self, spec: Optimizer, parameters: Sequence[tf.Variable], decays: Sequence[float]
    ) -> None:
        self._spec = spec
        self._parameters = parameters
        self._decays = decays
        self._steps = tf.Variable(0, trainable=False, dtype=tf.int64)
        self._first, self._second = slots(parameters), slots(parameters)

    def reset(self) -> None:
        self._steps.assign(0)
        clear([*self._first, *self._second])

    def apply(self, gradients: Sequence[tf.Tensor]) -> None:
        spec = self._spec
        steps = tf.cast(self._steps.assign_add(1), tf.float64)
        # In float64, for 1 - beta ** 1 cancels.
        first, second = (1 - tf.pow(tf.constant(beta, tf.float64), steps) for beta in spec.betas)
        root = tf.sqrt(second)
        rate, epsilon = spec.learning_rate * root / first, spec.epsilon * root
        pairs = zip(self._parameters, gradients, strict=True)
        for index, (parameter, gradient) in enumerate(pairs):
            if self._decays[index]:
                parameter.assign(parameter * (1 - spec.learning_rate * self._decays[index]))
            moments = self._first[index], self._second[index]
            if parameter.dtype in HALVES:
                self._composed(parameter, gradient, *moments, rate, epsilon)
            else:
                self._fused(parameter, gradient, *moments, rate, epsilon)

    def _fused(
        self,
        parameter: tf.Variable,
        gradient: tf.Tensor,
        first: tf.Variable,
        second: tf.Variable,
        rate: tf.Tensor,
        epsilon: tf.Tensor,
    ) -> None:
        dtype = parameter.dtype
        none = tf.constant(0, dtype)  # no bias correction by the kernel
        tf.raw_ops.ResourceApplyAdam(
            var=parameter.handle,
            m=first.handle,
            v=second.handle,
            beta1_power=none,
            beta2_power=none,
            lr=tf.cast(rate, dtype),
            beta1=tf.constant(self._spec.betas[0], dtype),
            beta2=tf.constant(self._spec.betas[1], dtype),
            epsilon=tf.cast(epsilon, dtype),
            grad=gradient,
        )

    def _composed(
        self,
        parameter: tf.Variable,
        gradient: tf.Tensor,
        first: tf.Variable,
        second: tf.Variable,
        rate: tf.Tensor,
        epsilon: tf.Tensor,
    ) -> None:
        """In float32: half precision holds the values, but has no 0.999 for the kernel."""
        beta1, beta2 = self._spec.betas
        gradient, m, v = wide(gradient), wide(first), wide(second)
        m = beta1 * m + (1 - beta1) * gradient
        v = beta2 * v + (1 - beta2) * tf.square(gradient)
        change = tf.cast(rate, m.dtype) * m / (tf.sqrt(v) + tf.cast(epsilon, m.dtype))
        first.assign(tf.cast(m, first.dtype))
        second.assign(tf.cast(v, second.dtype))
        parameter.assign(tf.cast(wide(parameter) - change, parameter.dtype))


RULES: dict[str, type[Sgd] | type[AdamW]] = {"sgd": Sgd, "adamw": AdamW}


def build(workload: Workload, parameters: Mapping[str, tf.Variable]) -> Sgd | AdamW:
    """The optimizer of `workload.optimizer`; raises ValueError for a rule that it does not know."""
    spec = workload.optimizer
    if spec.rule not in RULES:
        raise ValueError(f"there is no optimizer {spec.rule!r}: {' and '.join(RULES)} are")
    spared = {tensor.name for tensor in workload.tensors() if not tensor.decay}
    decays = [0.0 if name in spared else spec.weight_decay for name in parameters]
    return RULES[spec.rule](spec, list(parameters.values()), decays)


def slots(parameters: Sequence[tf.Variable]) -> list[tf.Variable]:
    """A variable like each parameter, 0."""
    return [tf.Variable(tf.zeros_like(parameter), trainable=False) for parameter in parameters]


def clear(variables: Sequence[tf.Variable]) -> None:
    for variable in variables:
        variable.assign(tf.zeros_like(variable))


def wide(tensor: tf.Tensor | tf.Variable) -> tf.Tensor:
    return tf.cast(tensor, tf.float32) if tensor.dtype in HALVES else tf.convert_to_tensor(tensor)
