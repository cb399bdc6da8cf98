"""OpenVINO in the worker: builds graphs, compiles them and runs these."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import openvino

from mbench.contract.precision import PRECISIONS
from mbench.sdk import tensors
from mbench.sdk.benchmark import Prepared
from mbench.sdk.checks import require
from mbench.sdk.runtime import RuntimeBase
from mbench_openvino.compiler import COMPILERS, Latency
from mbench_openvino.layers import Net, bits, ops
from mbench_openvino.plugin import OpenVino

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.contract.precision import Precision
    from mbench.contract.workload import Workload
    from mbench.sdk.tensors import Native

__all__ = ["Benchmark", "Runtime"]

KINDS = {"float32": openvino.Type.f32, "bfloat16": openvino.Type.bf16}


class Benchmark(Prepared):
    """A case in OpenVINO. Parameters are constants of the graph: loading them compiles another."""

    @staticmethod
    def precision_differences(precision: Precision) -> list[str]:
        if precision.mixed:
            return ["weights are rounded to bfloat16 once, when the graph is compiled"]
        return []

    def build(self) -> Net:
        self.kind = KINDS[self.precision.parameters]
        self.shapes = self.workload.batch(self.case.batch_size, seed=0)
        net = traced(self.family, self.workload, self.shapes, self.kind)
        net.allocate()
        return net

    def place(self, array: np.ndarray) -> Any:
        """As the graph takes it; NumPy has no bfloat16, so OpenVINO keeps that."""
        array = np.ascontiguousarray(array)
        if array.dtype.kind != "f" or self.kind == openvino.Type.f32:
            return array.astype("float32" if array.dtype.kind == "f" else "int64", copy=False)
        tensor = openvino.Tensor(self.kind, array.shape)
        tensor.data[...] = bits(array)
        return tensor

    def placed(self, batch: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """What the graph takes, and no labels."""
        return super().placed({name: batch[name] for name in self.model.inputs})

    def loaded(self) -> None:
        for name, native in self.model.natives.items():
            if not np.isfinite(native.tensor).all():
                raise ValueError(f"{name} is not finite, of which OpenVINO's ReLU would make 0")
        net = traced(self.family, self.workload, self.shapes, self.kind, self.model.natives)
        self.compiled = self.compiler.compiled(
            net.graph(), precision=self.precision, threads=self.case.threads
        )
        self.request = self.compiled.create_infer_request()

    def prepare_inference(self) -> None:
        """It is compiled whenever parameters are loaded."""

    def infer(self, batch: Mapping[str, Any]) -> dict[str, np.ndarray]:
        if self.settings.get("io") == "shared":
            found = self.request.infer(batch, share_inputs=True, share_outputs=True)
        else:
            found = self.compiled(batch)
        return dict(zip(self.model.outputs, found.values(), strict=True))

    @staticmethod
    def to_numpy(tensor: Any) -> np.ndarray:
        """What NumPy takes for float16 is bfloat16: the upper half of float32."""
        if tensor.dtype != np.float16:
            return tensors.to_numpy(tensor)
        return (tensor.view(np.uint16).astype(np.uint32) << 16).view(np.float32)

    def natives(self) -> dict[str, Native]:
        return self.model.natives


class Runtime(RuntimeBase):
    """OpenVINO on CPUs with a number of threads."""

    adapter = OpenVino()
    compilers = COMPILERS
    plain = Latency
    benchmark = Benchmark
    version = openvino.__version__.partition("-")[0]
    distributions = ("numpy",)
    out_of_memory = ("bad_alloc", "failed to allocate", "could not allocate", "bad allocation")

    def set_up(self) -> None:
        self.expect_cuda(built=False, found=False)

    def threads_used(self) -> int:
        """It takes no more than there are cores for it, as a graph tells once it is compiled."""
        x = ops.parameter([1], openvino.Type.f32)
        model = openvino.Model([ops.relu(x)], [x], "threads")
        single = PRECISIONS["fp32"]
        found = Latency(self.device).compiled(model, precision=single, threads=self.threads)
        return int(found.get_property("INFERENCE_NUM_THREADS"))

    @staticmethod
    def set_precision(precision: Precision, compiler: Latency) -> None:
        if precision.half:
            can = openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
            require("BF16" in can, "OpenVINO finds no bfloat16 in this processor: use fp32")

    def details(self) -> dict[str, str]:
        return {"build": openvino.__version__}

    def outline(self, workload: Workload) -> dict[str, Native]:
        return traced(self.family(workload), workload, workload.batch(1, seed=0)).natives


def traced(
    family: Any,
    workload: Workload,
    batch: Mapping[str, np.ndarray],
    kind: openvino.Type = openvino.Type.f32,
    natives: Mapping[str, Native] | None = None,
) -> Net:
    """The graph of a model, for a batch of that size; without `natives`, it has no weights."""
    net = Net(workload.config, batch, kind=kind, natives=natives)
    net.give(family.forward(net, net.batch))
    return net
