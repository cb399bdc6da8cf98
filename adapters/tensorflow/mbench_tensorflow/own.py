"""Update rules by Keras' own optimizers."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import keras
import numpy as np
import tensorflow as tf

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mbench.contract.workload import Optimizer

__all__ = ["RULES"]


class KerasRule:
    """An optimizer of all parameters; `decays` are their weight decays, by name."""

    def __init__(
        self,
        spec: Optimizer,
        parameters: Mapping[str, keras.Variable],
        decays: Mapping[str, float],
    ) -> None:
        self.spec = spec
        self._rate = spec.learning_rate
        self.variables = list(parameters.values())
        self.decays = [decays[name] for name in parameters]
        self.dtype = self.variables[0].dtype
        # TensorFlow takes Python numbers as float32, and NumPy's in their own type.
        self.number = np.float64 if self.dtype == "float64" else float
        before = keras.config.floatx()
        keras.config.set_floatx(self.dtype)  # the learning rate's type
        try:
            self.optimizer = self.make()
            self.optimizer.build(self.variables)
        finally:
            keras.config.set_floatx(before)

    def set_rate(self, rate: float) -> None:
        """Set the learning rate of later updates."""
        self.optimizer.learning_rate.assign(self.number(rate))

    def make(self) -> keras.optimizers.Optimizer:
        raise NotImplementedError("a rule must make its optimizer")

    def reset(self) -> None:
        for variable in self.optimizer.variables:
            if variable is not self.optimizer._learning_rate:
                variable.assign(tf.zeros_like(variable.value))

    def apply(self, gradients: Sequence[tf.Tensor]) -> None:
        """Enqueue a step by the gradients of all parameters."""
        self.optimizer.apply(gradients, self.variables)


class Sgd(KerasRule):
    """keras.optimizers.SGD; weight decay is added to gradients, as by a layer's regularizer.

    Keras' velocity includes the learning rate of each step. The rule applies the current rate to
    all of it, so the velocity is scaled with the rate where it changes (Goyal et al. 2017,
    "momentum correction").
    """

    def set_rate(self, rate: float) -> None:
        before, self._rate = self._rate, rate
        if rate == before or not before or not self.spec.momentum:
            super().set_rate(rate)
            return
        self.change(tf.constant(rate, self.dtype), tf.constant(rate / before, self.dtype))

    @cached_property
    def change(self) -> Callable[[tf.Tensor, tf.Tensor], None]:
        """`changed` as a single graph call; run eagerly, it makes one call per velocity."""
        found: Callable[[tf.Tensor, tf.Tensor], None] = tf.function(self.changed, autograph=False)
        return found

    def changed(self, rate: tf.Tensor, ratio: tf.Tensor) -> None:
        """Set the rate, and multiply all velocities by its ratio to the one before."""
        self.optimizer.learning_rate.assign(rate)
        for velocity in self.optimizer.momentums:
            velocity.assign(velocity.value * ratio)

    def make(self) -> keras.optimizers.Optimizer:
        spec = self.spec
        return keras.optimizers.SGD(
            self.number(spec.learning_rate), momentum=self.number(spec.momentum)
        )

    def apply(self, gradients: Sequence[tf.Tensor]) -> None:
        super().apply(
            [
                gradient + tf.constant(decay, gradient.dtype) * variable.value
                if decay
                else gradient
                for gradient, decay, variable in zip(
                    gradients, self.decays, self.variables, strict=True
                )
            ]
        )


class AdamW(KerasRule):
    """keras.optimizers.AdamW. It adds epsilon to the root of the second moment before bias
    correction, so epsilon gets the same correction.
    """

    def make(self) -> keras.optimizers.Optimizer:
        spec, number = self.spec, self.number
        made = keras.optimizers.AdamW(
            number(spec.learning_rate),
            weight_decay=number(spec.weight_decay),
            beta_1=number(spec.betas[0]),
            beta_2=number(spec.betas[1]),
        )
        spared = [v for v, decay in zip(self.variables, self.decays, strict=True) if not decay]
        if spared:
            made.exclude_from_weight_decay(var_list=spared)
        return made

    def apply(self, gradients: Sequence[tf.Tensor]) -> None:
        steps = tf.cast(self.optimizer.iterations.value + 1, tf.float64)
        rest = 1 - tf.pow(tf.constant(self.spec.betas[1], tf.float64), steps)
        self.optimizer.epsilon = tf.cast(self.spec.epsilon * tf.sqrt(rest), self.dtype)
        super().apply(gradients)


RULES: dict[str, type[KerasRule]] = {"sgd": Sgd, "adamw": AdamW}
