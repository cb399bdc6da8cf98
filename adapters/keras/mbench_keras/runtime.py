"""Keras in the worker: builds cases, and runs the steps of Model.fit and Model.predict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import keras
import numpy as np
from keras.src.backend.common import dtypes

from mbench.sdk.benchmark import Prepared
from mbench.sdk.checks import check_effect, require
from mbench.sdk.compiler import Compiler
from mbench.sdk.runtime import RuntimeBase
from mbench_keras.optimizer import Update
from mbench_keras.parameters import named, to_numpy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import ModuleType

    from mbench.contract.precision import Precision
    from mbench.contract.scenario import Work
    from mbench.contract.workload import Workload
    from mbench.sdk.tensors import Native
    from mbench_keras.plugin import Keras

__all__ = ["Auto", "Benchmark", "Jit", "KerasRuntime"]

DEMOTED = dtypes.BIT64_TO_BIT32_DTYPE["float64"]


class Auto(Compiler):
    """Keras' own choice."""

    jit: bool | str = "auto"


class Jit(Compiler):
    """Whatever jit_compile means on the backend."""

    jit = True


class Loss(keras.metrics.Mean):
    """The loss of the last step; Keras' own is the mean over all steps of an epoch."""

    def update_state(self, values: Any, sample_weight: Any = None) -> None:
        self.reset_state()
        super().update_state(values, sample_weight)


class Benchmark(Prepared):
    """A case in Keras. In a family's file, `LABELS` names the label that each output is compared
    with, and an optional `LOSS` how; the default is the cross entropy.
    """

    channels_last = True
    updater = Update
    update: Update
    to_numpy = staticmethod(to_numpy)

    def build(self) -> keras.Model:
        keras.utils.set_random_seed(self.seed)
        return self.family.build(self.workload.config)

    def place(self, array: np.ndarray) -> Any:
        """Images are channels last, as Keras has them by default."""
        array = array.transpose(0, 2, 3, 1) if array.ndim == 4 else array
        kind = self.precision.parameters if array.dtype.kind == "f" else "int32"
        return keras.ops.convert_to_tensor(np.ascontiguousarray(array), dtype=kind)

    def placed(self, batch: Mapping[str, np.ndarray]) -> Any:
        """Inputs and labels, as a data set gives them to Model.fit."""
        tensors = super().placed(batch)
        inputs = {name: tensors[name] for name in self.model.input}
        if not self.training:
            return (inputs,)
        return inputs, {name: tensors[label] for name, label in self.family.LABELS.items()}

    def check(self) -> None:
        found = {variable.path: variable.dtype for variable in self.model.weights}
        check_effect(self.precision, found, self.precision.parameters)
        self._natives = natives(self.family, self.model)
        self.loaded()
        if self.training and self.starts:
            self.differences.append(
                "running variances are kept biased, and unbiased where they are read"
            )

    def prepare_training(self) -> None:
        model, optimizer = self.model, self.update.optimizer
        optimizer.build(model.trainable_variables)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        losses = dict.fromkeys(self.family.LABELS, getattr(self.family, "LOSS", loss))
        model.compile(optimizer, losses, jit_compile=self.compiler.jit)
        model._loss_tracker.__class__ = Loss
        model._symbolic_build(data_batch=self.batch)
        model.make_train_function()

    def prepare_inference(self) -> None:
        self.model.compile(jit_compile=self.compiler.jit)
        self.model.make_predict_function()

    def train(self, batch: Any) -> Any:
        """A step of Model.fit; returns its loss."""
        return self.model.train_function([batch])["loss"]

    def infer(self, batch: Any) -> Any:
        """A step of Model.predict."""
        return self.model.predict_function([batch])

    def natives(self) -> Mapping[str, Native]:
        return self._natives

    def loaded(self) -> None:
        """Keras' running variances are biased; they are corrected from `starts`."""
        variances = {n: one for n, one in self._natives.items() if n.endswith(".running_var")}
        self.starts = {name: one.read().astype(np.float64) for name, one in variances.items()}

    def parameters(self) -> Iterator[tuple[str, np.ndarray]]:
        """Running variances become PyTorch's. After k steps, Keras' is momentum**k * start plus a
        rest that lacks the factor n / (n - 1), for n values of a channel: a batch and its pixels.
        """
        found = super().parameters()
        steps = int(self.update.optimizer.iterations) if self.updates else 0
        for name, array in found:
            if name in self.starts:
                norm = self.model.get_layer(name.rpartition(".")[0].replace(".", "-"))
                count = self.case.batch_size * int(np.prod(norm.input.shape[1:-1]))
                kept = norm.momentum**steps * self.starts[name]
                factor = count / max(count - 1, 1)
                array = (kept + factor * (array - kept)).astype(array.dtype)
            yield name, array


class KerasRuntime(RuntimeBase):
    """Keras on a backend, which a subclass sets up."""

    adapter: Keras
    benchmark = Benchmark
    version = str(keras.__version__)
    out_of_memory = (
        "out of memory", "resource_exhausted", "resourceexhausted", "oom when",
        "failed to allocate", "can't allocate memory", "not enough memory",
    )  # fmt: skip

    def set_up(self) -> None:
        self.expect_cuda(built=False, found=False)
        found, adapter = keras.config.backend(), self.adapter
        require(found == adapter.backend, f"Keras computes by {found}: unset KERAS_BACKEND")
        # Overrides the user's keras.json.
        keras.config.set_image_data_format("channels_last")
        self.compilers = dict(zip(adapter.compilers, (Auto, Jit), strict=False))
        self.distributions = (*(pin.partition("==")[0] for pin in adapter.pins), "numpy")
        self.set_threads(self.threads)

    @staticmethod
    def set_threads(threads: int) -> None:
        """Set the backend's number of threads, if no environment variable does."""

    @staticmethod
    def set_precision(precision: Precision, compiler: Any) -> None:
        # On JAX and PyTorch, Keras turns float64 into float32 by a table, without a setting for it.
        double = precision.parameters == "float64"
        dtypes.BIT64_TO_BIT32_DTYPE["float64"] = "float64" if double else DEMOTED
        keras.config.set_floatx(precision.parameters)
        keras.config.set_dtype_policy(precision.parameters)

    def prepare(self, work: Work) -> Prepared:
        keras.utils.clear_session()  # frees the previous case's model, which has reference cycles
        return super().prepare(work)

    def outline(self, workload: Workload) -> Mapping[str, Native]:
        family = self.family(workload)
        return natives(family, family.build(workload.config))


def natives(family: ModuleType, model: keras.Model) -> Mapping[str, Native]:
    """`canonical` and `TRANSPOSED` in a family's file say what differs from most families."""
    return named(model, getattr(family, "canonical", str), getattr(family, "TRANSPOSED", True))
