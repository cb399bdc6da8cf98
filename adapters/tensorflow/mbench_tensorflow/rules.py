"""Update rules: by TensorFlow's fused kernels, and composed where those lack the precision."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf

from mbench_tensorflow.precision import HALVES, wide

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mbench.workloads.workload import Optimizer

    Moments = Sequence[tf.Variable]

__all__ = ["RULES"]


class Rule:
    """Updates parameters by their gradients; each has its weight decay, and `kept` moments."""

    def __init__(
        self, spec: Optimizer, parameters: Sequence[tf.Variable], decays: Sequence[float]
    ) -> None:
        self.spec = spec
        self.parameters = parameters
        self.decays = decays
        self.moments = [
            [tf.Variable(tf.zeros_like(parameter), trainable=False) for _ in range(self.kept)]
            for parameter in parameters
        ]

    @property
    def kept(self) -> int:
        raise NotImplementedError

    def reset(self) -> None:
        for moments in self.moments:
            for moment in moments:
                moment.assign(tf.zeros_like(moment))

    def apply(self, gradients: Sequence[tf.Tensor]) -> None:
        raise NotImplementedError

    def each(
        self, gradients: Sequence[tf.Tensor]
    ) -> Iterable[tuple[tf.Variable, tf.Tensor, float, Moments]]:
        return zip(self.parameters, gradients, self.decays, self.moments, strict=True)


class Sgd(Rule):
    """v = momentum * v + (gradient + weight_decay * w);  w -= learning_rate * v."""

    @property
    def kept(self) -> int:
        return 1 if self.spec.momentum else 0

    def apply(self, gradients: Sequence[tf.Tensor]) -> None:
        for parameter, gradient, decay, moments in self.each(gradients):
            dtype = parameter.dtype
            if decay:
                gradient += tf.constant(decay, dtype) * parameter
            rate = tf.constant(self.spec.learning_rate, dtype)
            if not moments:
                tf.raw_ops.ResourceApplyGradientDescent(
                    var=parameter.handle, alpha=rate, delta=gradient
                )
                continue
            tf.raw_ops.ResourceApplyMomentum(
                var=parameter.handle,
                accum=moments[0].handle,
                lr=rate,
                grad=gradient,
                momentum=tf.constant(self.spec.momentum, dtype),
            )


class AdamW(Rule):
    """Decoupled weight decay, then Adam with the epsilon beside the corrected second moment.

    The fused kernel computes w -= rate * m / (sqrt(v) + epsilon), so both bias corrections go
    into `rate` and `epsilon`.
    """

    kept = 2

    def __init__(
        self, spec: Optimizer, parameters: Sequence[tf.Variable], decays: Sequence[float]
    ) -> None:
        super().__init__(spec, parameters, decays)
        self.steps = tf.Variable(0, trainable=False, dtype=tf.int64)

    def reset(self) -> None:
        super().reset()
        self.steps.assign(0)

    def apply(self, gradients: Sequence[tf.Tensor]) -> None:
        spec = self.spec
        steps = tf.cast(self.steps.assign_add(1), tf.float64)
        # In float64, for 1 - beta ** 1 cancels.
        first, second = (1 - tf.pow(tf.constant(beta, tf.float64), steps) for beta in spec.betas)
        root = tf.sqrt(second)
        rate, epsilon = spec.learning_rate * root / first, spec.epsilon * root
        for parameter, gradient, decay, moments in self.each(gradients):
            if decay:
                parameter.assign(parameter * (1 - spec.learning_rate * decay))
            adam = composed_adam if parameter.dtype in HALVES else fused_adam
            adam(parameter, gradient, moments, spec.betas, rate, epsilon)


def fused_adam(
    parameter: tf.Variable,
    gradient: tf.Tensor,
    moments: Moments,
    betas: Sequence[float],
    rate: tf.Tensor,
    epsilon: tf.Tensor,
) -> None:
    dtype = parameter.dtype
    none = tf.constant(0, dtype)  # no bias correction by the kernel
    tf.raw_ops.ResourceApplyAdam(
        var=parameter.handle,
        m=moments[0].handle,
        v=moments[1].handle,
        beta1_power=none,
        beta2_power=none,
        lr=tf.cast(rate, dtype),
        beta1=tf.constant(betas[0], dtype),
        beta2=tf.constant(betas[1], dtype),
        epsilon=tf.cast(epsilon, dtype),
        grad=gradient,
    )


def composed_adam(
    parameter: tf.Variable,
    gradient: tf.Tensor,
    moments: Moments,
    betas: Sequence[float],
    rate: tf.Tensor,
    epsilon: tf.Tensor,
) -> None:
    """In float32: half precision holds the values, but has no 0.999 for the kernel."""
    (first, second), (beta1, beta2) = moments, betas
    gradient, m, v = wide(gradient), wide(first), wide(second)
    m = beta1 * m + (1 - beta1) * gradient
    v = beta2 * v + (1 - beta2) * tf.square(gradient)
    change = tf.cast(rate, m.dtype) * m / (tf.sqrt(v) + tf.cast(epsilon, m.dtype))
    first.assign(tf.cast(m, first.dtype))
    second.assign(tf.cast(v, second.dtype))
    parameter.assign(tf.cast(wide(parameter) - change, parameter.dtype))


RULES: dict[str, type[Rule]] = {"sgd": Sgd, "adamw": AdamW}
