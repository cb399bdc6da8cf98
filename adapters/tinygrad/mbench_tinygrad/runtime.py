"""tinygrad in the worker: sets it up, builds cases and runs their steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tinygrad import Context, Tensor, TinyJit, dtypes
from tinygrad.nn.state import get_state_dict

from mbench.contract.compat import version_of
from mbench.sdk.benchmark import Prepared
from mbench.sdk.compiler import Compiler
from mbench.sdk.runtime import RuntimeBase
from mbench.sdk.tensors import to_numpy
from mbench_tinygrad.optimizer import Update
from mbench_tinygrad.plugin import Tinygrad

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np

__all__ = ["Benchmark", "Runtime"]


class Eager(Compiler):
    differences = ("compiled kernels are cached on disk, as tinygrad does by default",)


class Jit(Compiler):
    differences = (*Eager.differences, "TinyJit captures a step in its second call")

    def compile(self, function: Callable[..., Any]) -> Callable[..., Any]:
        step = TinyJit(function)

        def run(batch: Mapping[str, Tensor]) -> Any:
            found = step(batch)  # tensors that the next call overwrites
            if isinstance(found, dict):
                return {name: tensor.clone().realize() for name, tensor in found.items()}
            return found.clone().realize()

        return run


COMPILERS = {"eager": Eager, "jit": Jit}


class Benchmark(Prepared):
    updater = Update
    update: Update

    def build(self) -> Any:
        model = self.family.build(self.workload.config)
        self.dtype = getattr(dtypes, self.precision.parameters)
        for tensor in get_state_dict(model).values():
            tensor.replace(Tensor(tensor.numpy(), dtype=self.dtype).realize())
        return model

    def place(self, array: np.ndarray) -> Tensor:
        return Tensor(array, dtype=self.dtype if array.dtype.kind == "f" else None).realize()

    def state(self) -> dict[str, Tensor]:
        found = get_state_dict(self.model)
        return {name: found[name] for name in found if not name.endswith("num_batches_tracked")}

    @staticmethod
    def assign(tensor: Tensor, array: np.ndarray) -> None:
        tensor.assign(Tensor(array, dtype=tensor.dtype)).realize()

    @staticmethod
    def to_numpy(tensor: Tensor) -> np.ndarray:
        return to_numpy(tensor.numpy())

    @staticmethod
    def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
        return logits.sparse_categorical_crossentropy(labels)

    def prepare_inference(self) -> None:
        def forward(batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
            found = self.family.forward(self.model, batch)
            return {name: tensor.realize() for name, tensor in found.items()}

        self.inferred = self.compiler.compile(forward)

    def optimize(self, batch: Mapping[str, Tensor]) -> Tensor:
        with Context(TRAINING=1):
            loss = self.loss_of(self.family.forward(self.model, batch), batch)
            self.update.native.zero_grad()
            loss.backward()
            return loss.realize(*self.update(), *self.state().values())


class Runtime(RuntimeBase):
    adapter = Tinygrad()
    compilers = COMPILERS
    benchmark = Benchmark
    version = version_of("tinygrad") or ""
