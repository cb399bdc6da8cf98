"""TensorFlow, lying."""

from __future__ import annotations

import tensorflow as tf

from liars.runtime import lying
from mbench_tensorflow.own import KerasRule
from mbench_tensorflow.runtime import Benchmark
from mbench_tensorflow.runtime import Runtime as Honest

__all__ = ["Runtime"]


class Open(Benchmark):
    """What lies need from a framework."""

    def judge_only(self) -> None:
        """Normalize as in inference."""
        forward = self.family.forward
        self.family.forward = lambda model, batch, training: forward(model, batch, training=False)

    def coarsen_state(self) -> None:
        """Round the optimizer's state to bfloat16."""
        rule = self.update._rule
        if isinstance(rule, KerasRule):
            state = [variable for variable in rule.optimizer.variables if variable.shape.rank]
        else:
            state = [kept for slot in rule.slots for kept in slot.kept]
        for kept in state:
            kept.assign(tf.cast(tf.cast(kept, tf.bfloat16), kept.dtype))


Honest.benchmark = Open
Runtime = lying(Honest)
