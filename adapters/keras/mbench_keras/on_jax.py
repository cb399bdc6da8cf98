"""Keras on JAX: a step takes the state of the model, and returns the next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax

from mbench_keras.plugin import JAX
from mbench_keras.runtime import Benchmark, KerasRuntime

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.contract.precision import Precision
    from mbench.sdk.tensors import Native

__all__ = ["Runtime"]

STATE = ("trainable_variables", "non_trainable_variables", "optimizer_variables",
         "metrics_variables")  # fmt: skip
"""Parts of the state in training; inference has the first two."""


class OnJax(Benchmark):
    """What Model.fit and Model.predict do around a step: the state leaves the model in the first
    step, and is put back when the model is read.
    """

    state_now: Any = None

    def train(self, batch: Any) -> Any:
        return self.stepped(self.model.train_function, STATE, batch)["loss"]

    def infer(self, batch: Any) -> Any:
        return self.stepped(self.model.predict_function, STATE[:2], batch)

    def stepped(self, function: Any, names: tuple[str, ...], batch: Any) -> Any:
        model = self.model
        if model._jax_state_synced:
            wanted = dict.fromkeys((*names, "purge_model_variables"), True)
            self.state_now = model._get_jax_state(**wanted)
            model._jax_state_synced = False
        found, self.state_now = function(self.state_now, iter([batch]))
        model._jax_state = dict(zip(names, self.state_now, strict=True))
        return found

    def natives(self) -> Mapping[str, Native]:
        self.model.jax_state_sync()
        return super().natives()

    def synchronize(self) -> None:
        jax.block_until_ready((list(self._kept), self.state_now))


class Runtime(KerasRuntime):
    """JAX takes its threads from PJRT_NPROC."""

    adapter = JAX
    benchmark = OnJax

    @staticmethod
    def set_precision(precision: Precision, compiler: Any) -> None:
        jax.config.update("jax_enable_x64", precision.parameters == "float64")
        KerasRuntime.set_precision(precision, compiler)
