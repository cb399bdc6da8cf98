"""Keras' own optimizers, with clipping, decay and epsilon as workloads document them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import keras
import numpy as np
from keras import ops

from mbench.sdk.optimizer import UpdateBase, clip_factor, decays, find_rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.contract.workload import Optimizer

__all__ = ["Update"]

SGD: Any = keras.optimizers.SGD
ADAMW: Any = keras.optimizers.AdamW
if keras.config.backend() == "torch":
    # Keras then creates instances of a subclass with fused updates: derive from that class.
    SGD, ADAMW = type(SGD()), type(ADAMW())

if keras.config.backend() == "tensorflow":
    # An embedding's gradient has only the rows that were looked up, one by one.
    from tensorflow import convert_to_tensor as dense
else:
    dense = ops.convert_to_tensor


class Clipping:
    """Clips by the norm of all gradients before an update, as PyTorch does: Keras' own clipping
    does not have PyTorch's epsilon.
    """

    spec: Optimizer
    spared: set[int]
    """The identities of variables that do not decay."""

    def apply(self, grads: Sequence[Any], trainable_variables: Any = None) -> None:
        grads = [dense(gradient) for gradient in grads]
        if self.spec.clip_norm is not None:
            norm = ops.sqrt(sum(ops.sum(ops.square(gradient)) for gradient in grads))
            factor = ops.minimum(ops.ones_like(norm), clip_factor(self.spec.clip_norm, norm))
            grads = [gradient * factor for gradient in grads]
        super().apply(self.decayed(grads), trainable_variables)  # type: ignore[misc]

    def decayed(self, grads: list[Any]) -> list[Any]:
        return grads


class Sgd(Clipping, SGD):
    """Adds weight decay to the gradient, as a regularizer of the layer would."""

    def decayed(self, grads: list[Any]) -> list[Any]:
        decay = number(self.spec.weight_decay)
        pairs = zip(grads, self._trainable_variables, strict=True)
        return [g if id(v) in self.spared or not decay else g + decay * v.value for g, v in pairs]


class AdamW(Clipping, ADAMW):
    """Keras adds epsilon to the second moment before bias correction, so epsilon gets the same
    correction.
    """

    def apply(self, grads: Sequence[Any], trainable_variables: Any = None) -> None:
        kind = self._momentums[0].dtype
        beta = ops.cast(number(self.spec.betas[1]), kind)
        rest = 1 - ops.power(beta, ops.cast(self.iterations + 1, kind))
        self.epsilon = number(self.spec.epsilon) * ops.sqrt(rest)
        super().apply(grads, trainable_variables)


def number(value: float) -> Any:
    """TensorFlow takes Python numbers as float32, and NumPy's in their own type."""
    return np.float64(value) if keras.config.floatx() == "float64" else value


class Update(UpdateBase):
    """`optimizer` is for Model.compile; the parameters are lists of Keras' variables."""

    def build(self) -> None:
        spec = self.spec
        kind: Any = find_rule(self.workload, {"sgd": Sgd, "adamw": AdamW})
        own = decays(self.workload, self.parameters)
        spared = [v for name, parts in self.parameters.items() if not own[name] for v in parts]
        if kind is Sgd:
            constants = {"momentum": number(spec.momentum)}
        else:
            constants = dict(zip(("beta_1", "beta_2"), map(number, spec.betas), strict=True))
            constants["weight_decay"] = number(spec.weight_decay)
        made = kind(number(spec.learning_rate), **constants)
        if kind is AdamW and spared:
            made.exclude_from_weight_decay(var_list=spared)
        made.spec, made.spared = spec, {id(variable) for variable in spared}
        self.optimizer = made

    def reset(self) -> None:
        for variable in self.optimizer.variables:
            if variable is not self.optimizer._learning_rate:
                variable.assign(ops.zeros_like(variable.value))
