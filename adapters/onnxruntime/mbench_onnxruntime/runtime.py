"""ONNX Runtime in the worker: builds graphs, makes sessions of them and runs these."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime

from mbench.sdk.benchmark import Prepared
from mbench.sdk.checks import check_effect
from mbench.sdk.runtime import RuntimeBase
from mbench_onnxruntime.compiler import COMPILERS, Level
from mbench_onnxruntime.layers import Net
from mbench_onnxruntime.plugin import OnnxRuntime

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.contract.workload import Workload
    from mbench.sdk.tensors import Native

__all__ = ["Benchmark", "Runtime"]


class Benchmark(Prepared):
    """A case in ONNX Runtime. Parameters are constants of a session: loading them makes another."""

    def build(self) -> Net:
        batch = self.workload.batch(self.case.batch_size, seed=0)
        net = traced(self.family, self.workload, batch)
        net.allocate()
        return net

    def place(self, array: np.ndarray) -> Any:
        return onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array))

    def placed(self, batch: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """What the graph takes, and no labels."""
        kept = {name: batch[name] for name in self.model.inputs}
        if self.settings.get("io") == "bound":
            return super().placed(kept)
        return {name: np.ascontiguousarray(array) for name, array in kept.items()}

    def loaded(self) -> None:
        self.session = self.compiler.session(self.model.graph(), threads=self.case.threads)
        found = {output.name: output.type for output in self.session.get_outputs()}
        check_effect(self.precision, found, "tensor(float)")
        self.renewed()

    def renewed(self) -> None:
        self.bindings = {}
        if self.settings.get("io") == "bound":
            self.bindings = {id(batch): self.bound(batch) for batch in self.placed_batches}

    def bound(self, batch: Mapping[str, Any]) -> onnxruntime.IOBinding:
        """Inputs where they lie, outputs where ONNX Runtime puts them."""
        binding = self.session.io_binding()
        for name, value in batch.items():
            binding.bind_ortvalue_input(name, value)
        for name in self.model.outputs:
            binding.bind_output(name)
        return binding

    def prepare_inference(self) -> None:
        """A session is made of the model when it is built or loaded."""

    def infer(self, batch: Mapping[str, Any]) -> dict[str, np.ndarray]:
        names = list(self.model.outputs)
        if binding := self.bindings.get(id(batch)):
            self.session.run_with_iobinding(binding)
            return dict(zip(names, binding.get_outputs(), strict=True))
        return dict(zip(names, self.session.run(names, dict(batch)), strict=True))

    @staticmethod
    def to_numpy(tensor: Any) -> np.ndarray:
        return np.array(tensor.numpy() if isinstance(tensor, onnxruntime.OrtValue) else tensor)

    def natives(self) -> dict[str, Native]:
        return self.model.natives


class Runtime(RuntimeBase):
    """ONNX Runtime on CPUs with a number of threads."""

    adapter = OnnxRuntime()
    compilers = COMPILERS
    plain = Level
    benchmark = Benchmark
    version = onnxruntime.__version__
    distributions = ("onnx", "numpy")
    out_of_memory = ("failed to allocate memory", "bad_alloc")

    def set_up(self) -> None:
        self.expect_cuda(built=False, found=False)

    def details(self) -> dict[str, str]:
        return {"build": onnxruntime.get_build_info()}

    def outline(self, workload: Workload) -> dict[str, Native]:
        return traced(self.family(workload), workload, workload.batch(1, seed=0)).natives


def traced(family: Any, workload: Workload, batch: Mapping[str, np.ndarray]) -> Net:
    """The graph of a model, for a batch of that size, without memory for its weights."""
    net = Net(workload.config, batch)
    net.give(family.forward(net, net.batch))
    return net
