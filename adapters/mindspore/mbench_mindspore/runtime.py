"""MindSpore in the worker: sets it up, builds cases and runs their steps."""

from __future__ import annotations

import contextlib
import os
import tempfile
from typing import TYPE_CHECKING

# Read on import. A failed compilation leaves its files there, not in the work folder.
os.environ.setdefault("MS_OM_PATH", tempfile.gettempdir())

import mindspore as ms
from mindspore import ops

from mbench.sdk.benchmark import Prepared
from mbench.sdk.checks import check_effect
from mbench.sdk.runtime import RuntimeBase
from mbench_mindspore import parameters, precision
from mbench_mindspore.compiler import COMPILERS, Pynative
from mbench_mindspore.optimizer import Update
from mbench_mindspore.plugin import MindSpore

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from mindspore import nn

    from mbench.contract.workload import Workload
    from mbench.sdk.tensors import Native

    Tensors = Mapping[str, ms.Tensor]

__all__ = ["Benchmark", "Runtime"]


class Benchmark(Prepared):
    """A case in MindSpore."""

    updater = Update
    update: Update
    precision_differences = staticmethod(precision.differences)
    to_numpy = staticmethod(parameters.to_numpy)

    def build(self) -> nn.Cell:
        ms.set_seed(self.case.seed)
        model = precision.cast(self.family.build(self.workload.config), self.precision)
        for path, tensor in model.parameters_and_names():
            tensor.name = path  # names were unique only within a layer, and must be unique overall
        model.set_train(self.training)
        return model

    def place(self, array: np.ndarray) -> ms.Tensor:
        """Whole numbers become int32, which kernels on CPU require of labels."""
        kind = self.precision.parameters if array.dtype.kind == "f" else "int32"
        return parameters.placed(array.astype(kind))

    def placed(self, batch: Mapping[str, np.ndarray]) -> dict[str, ms.Tensor]:
        """The batch as tensors whose values are not constants of a graph."""
        return ms.mutable(super().placed(batch))

    def check(self) -> None:
        tensors = {name: native.tensor for name, native in self.natives().items()}
        found = {name: str(tensor.dtype).lower() for name, tensor in tensors.items()}
        check_effect(self.precision, found, self.precision.parameters)

    def prepare_training(self) -> None:
        model, family, update = self.model, self.family, self.update.cell

        def objective(batch: Tensors) -> ms.Tensor:
            return family_loss(family_forward(model, batch), batch)

        family_forward, family_loss = family.forward, family.loss
        differentiate = ms.value_and_grad(objective, None, self.update.order)

        def compute(batch: Tensors) -> ms.Tensor:
            loss, gradients = differentiate(batch)
            return ops.depend(loss, update(gradients))

        self.compute = self.compiler.compile(compute)

    def train(self, batch: Tensors) -> ms.Tensor:
        return self.compute(batch)

    def prepare_inference(self) -> None:
        model, family_forward = self.model, self.family.forward

        def compute(batch: Tensors) -> Tensors:
            return family_forward(model, batch)

        self.compute = self.compiler.compile(compute)

    def infer(self, batch: Tensors) -> Tensors:
        return self.compute(batch)

    def natives(self) -> dict[str, Native]:
        return parameters.named(self.model)


class Runtime(RuntimeBase):
    """MindSpore on the CPU with a number of threads."""

    adapter = MindSpore()
    compilers = COMPILERS
    plain = Pynative
    benchmark = Benchmark
    version = str(ms.__version__)
    distributions = ("mindspore", "numpy")
    out_of_memory = ("out of memory", "memory not enough", "malloc", "allocate memory", "bad_alloc")

    def set_up(self) -> None:
        self.expect_cuda(built=False, found=False)
        ms.set_device("CPU")
        ms.set_context(mode=ms.PYNATIVE_MODE)
        with contextlib.suppress(RuntimeError):  # if this process has already set it
            ms.runtime.dispatch_threads_num(self.threads)
        # The first call only reports that a CPU is not a device, and returns.
        ms.runtime.synchronize()

    def details(self) -> dict[str, str]:
        return {"onednn's instructions": os.environ.get("ONEDNN_MAX_CPU_ISA", "all")}

    def outline(self, workload: Workload) -> dict[str, Native]:
        from mindspore.nn.utils import no_init_parameters

        with no_init_parameters():
            return parameters.named(self.family(workload).build(workload.config))
