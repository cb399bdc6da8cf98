"""The update of a step: clipping and weight decay around one of tf.train's optimizers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tensorflow as tf

from mbench.contract.compat import zipped
from mbench.sdk.optimizer import UpdateBase, clip_factor, decays, find_rule

if TYPE_CHECKING:
    from mbench.contract.workload import Optimizer

    Pairs = list[tuple[tf.Tensor, tf.Variable]]

__all__ = ["Update"]


class Update(UpdateBase):
    """Makes the operations of an update, which belong to the graph of the step."""

    reset_operation: tf.Operation | None = None

    def build(self) -> None:
        self.session = None
        known = decays(self.workload, self.parameters)
        self.decays = {self.parameters[name]: decay for name, decay in known.items()}
        self.rule = find_rule(self.workload, RULES)(self.spec)
        self.differences = list(self.rule.differences)

    def minimize(self, loss: tf.Tensor, session: tf.Session) -> tf.Operation:
        """The operation that updates all parameters by gradients of `loss`, all computed first."""
        found = self.rule.optimizer.compute_gradients(loss, list(self.decays))
        # Dense: embedding rows that no sample touched have moments and decay too. For a row that is
        # touched twice, the norm is that of the sum, not of the parts.
        gradients = [tf.convert_to_tensor(gradient) for gradient, _ in found]
        if self.spec.clip_norm is not None:
            norm = tf.linalg.global_norm(gradients)
            factor = tf.minimum(tf.ones_like(norm), clip_factor(self.spec.clip_norm, norm))
            gradients = [gradient * factor for gradient in gradients]
        pairs = list(zipped(gradients, self.decays))
        operation = self.rule.apply(pairs, self.decays)
        self.session = session
        self.reset_operation = tf.variables_initializer(self.rule.variables())
        return operation

    def reset(self) -> None:
        if self.session is not None:
            self.session.run(self.reset_operation)


class Rule:
    """One of tf.train's optimizers, and what else the workload's rule does.

    Its constants are float64 tensors: plain numbers would become float32 ones, in fp64 too.
    """

    differences: tuple[str, ...] = ()
    optimizer: tf.train.Optimizer

    def __init__(self, spec: Optimizer) -> None:
        self.spec = spec

    def apply(self, pairs: Pairs, decays: dict[tf.Variable, float]) -> tf.Operation:
        raise NotImplementedError("a rule must define its step")

    def variables(self) -> list[tf.Variable]:
        """The variables that the rule keeps between steps."""
        found: list[tf.Variable] = self.optimizer.variables()
        return found


class Sgd(Rule):
    """v = momentum * v + (gradient + weight_decay * w);  w -= learning_rate * v."""

    def __init__(self, spec: Optimizer) -> None:
        super().__init__(spec)
        rate = exact(spec.learning_rate)
        if spec.momentum:
            self.optimizer = tf.train.MomentumOptimizer(rate, exact(spec.momentum))
        else:
            self.optimizer = tf.train.GradientDescentOptimizer(rate)

    def apply(self, pairs: Pairs, decays: dict[tf.Variable, float]) -> tf.Operation:
        decayed = [
            (gradient + decays[weight] * weight if decays[weight] else gradient, weight)
            for gradient, weight in pairs
        ]
        return self.optimizer.apply_gradients(decayed)


class AdamW(Rule):
    """Decoupled weight decay, then tf.train's Adam.

    tf.train's Adam adds epsilon to the root of the uncorrected second moment: w -= rate' * m /
    (sqrt(v) + epsilon), with rate' = rate * sqrt(1 - beta2^t) / (1 - beta1^t). So each step has its
    own epsilon, epsilon * sqrt(1 - beta2^t), which makes it the workload's rule.
    """

    differences = (
        "AdamW is tf.train.AdamOptimizer after weight decay of its own, with an epsilon that is "
        "corrected at each step",
    )

    def __init__(self, spec: Optimizer) -> None:
        super().__init__(spec)
        zero = tf.zeros_initializer()
        self.steps = tf.get_variable(
            "steps", (), tf.int64, zero, trainable=False, use_resource=True
        )
        steps = tf.cast(self.steps.assign_add(1), tf.float64)
        rate, one, two = (exact(number) for number in (spec.learning_rate, *spec.betas))
        epsilon = spec.epsilon * tf.sqrt(1 - tf.pow(two, steps))
        self.optimizer = tf.train.AdamOptimizer(rate, one, two, epsilon)

    def apply(self, pairs: Pairs, decays: dict[tf.Variable, float]) -> tf.Operation:
        with tf.control_dependencies([gradient for gradient, _ in pairs]):
            decayed: list[Any] = [
                weight.assign_sub(self.spec.learning_rate * decay * weight, read_value=False)
                for weight, decay in decays.items()
                if decay
            ]
        with tf.control_dependencies(decayed):
            return self.optimizer.apply_gradients(pairs)

    def variables(self) -> list[tf.Variable]:
        return [self.steps, *super().variables()]


def exact(number: float) -> tf.Tensor:
    return tf.constant(number, tf.float64)


RULES = {"sgd": Sgd, "adamw": AdamW}
