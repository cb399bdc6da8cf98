"""ONNX Runtime in the worker: builds graphs, creates sessions from them and runs those."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime

from mbench.sdk.benchmark import Prepared
from mbench.sdk.checks import check_effect
from mbench.sdk.runtime import RuntimeBase
from mbench_onnxruntime.cache import Growing, Static
from mbench_onnxruntime.compiler import COMPILERS, Level
from mbench_onnxruntime.plugin import OnnxRuntime
from mbench_onnxruntime.sparse import SparseNet

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.contract.workload import Workload
    from mbench.sdk.tensors import Native
    from mbench_onnxruntime.layers import Net

__all__ = ["Benchmark", "Runtime"]

TYPES = {"float32": "tensor(float)", "float64": "tensor(double)"}
"""A session's names for types, by the type of parameters."""


class Benchmark(Prepared):
    """A case in ONNX Runtime. Parameters are constants of a session: loading makes a new one."""

    net: type[Net] = SparseNet
    """The class that builds graphs."""
    reads = False
    """Whether a step reads prompts."""

    def build(self) -> Net:
        size, kind = self.case.batch_size, self.precision.parameters
        self.bound = self.settings.get("io") == "bound"
        if self.work.scenario.caches:
            net = self.net(self.workload.config, {}, kind=kind)
            self.cache_kind.build(self.family, net, size)
        else:
            batch = self.workload.batch(size, seed=0)
            net = traced(self.family, self.net(self.workload.config, batch, kind=kind))
        net.allocate()
        return net

    @property
    def cache_kind(self) -> type[Growing | Static]:
        return Static if self.bound else Growing

    def place(self, array: np.ndarray) -> Any:
        return onnxruntime.OrtValue.ortvalue_from_numpy(array)

    def placed(self, batch: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """The inputs of the graph, without labels."""
        kept = {
            name: np.ascontiguousarray(array, self.model.kind if array.dtype.kind == "f" else None)
            for name, array in batch.items()
            if name in self.model.inputs
        }
        if self.bound and not self.work.scenario.caches:
            return super().placed(kept)
        return kept

    def loaded(self) -> None:
        self.session = self.compiler.session(
            self.model.graph(), self.model.weights, threads=self.case.threads
        )
        found = {output.name: output.type for output in self.session.get_outputs()}
        check_effect(self.precision, found, TYPES[self.precision.parameters])
        if self.work.scenario.caches:
            self.cache = self.cache_kind(self.session, self.model)
        self.renewed()

    def renewed(self) -> None:
        batches: list[Any] = self.placed_batches
        if self.reads:
            self.prompts = {id(one): self.cache.reading(one["input_ids"]) for one in batches}
        self.bindings = {}
        if self.bound and not self.work.scenario.caches:
            self.bindings = {id(batch): self.binding(batch) for batch in batches}

    def binding(self, batch: Mapping[str, Any]) -> onnxruntime.IOBinding:
        """Inputs stay where they are; ONNX Runtime allocates outputs."""
        binding = self.session.io_binding()
        for name, value in batch.items():
            binding.bind_ortvalue_input(name, value)
        for name in self.model.outputs:
            binding.bind_output(name)
        return binding

    def prepare_inference(self) -> None:
        """Nothing to do: a session is created whenever parameters are loaded."""

    def infer(self, batch: Mapping[str, Any]) -> dict[str, np.ndarray]:
        names = list(self.model.outputs)
        if binding := self.bindings.get(id(batch)):
            self.session.run_with_iobinding(binding)
            return dict(zip(names, binding.get_outputs(), strict=True))
        return dict(zip(names, self.session.run(names, dict(batch)), strict=True))

    def prepare_prefill(self) -> None:
        self.reads = True
        self.differences.append(self.cache_kind.says)

    def prefill(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        return {"logits": self.prompts[id(batch)]()}

    def prepare_decode(self) -> None:
        self.differences.append(self.cache_kind.says)

    def fill(self, batch: Mapping[str, Any]) -> Any:
        return self.cache.following(batch["input_ids"], self.decoder.prompt_length)

    def decode(self, batch: Mapping[str, Any]) -> dict[str, list[Any]]:
        return {"logits": self.caches[self.at]()}

    def fetched(self, output: Any) -> np.ndarray:
        """Logits of each token are (B, 1, V) here."""
        if isinstance(output, list):
            return np.concatenate([self.to_numpy(one) for one in output], axis=1)
        return self.to_numpy(output)

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
        net = SparseNet(workload.config, workload.batch(1, seed=0))
        return traced(self.family(workload), net).natives


def traced(family: Any, net: Net) -> Net:
    """The graph of a model, for the batch of `net`, without memory for its weights."""
    net.give(family.forward(net, net.batch))
    return net
