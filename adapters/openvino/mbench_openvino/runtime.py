"""OpenVINO in the worker: builds graphs, compiles them and runs them."""

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
from mbench_openvino.layers import bits, ops
from mbench_openvino.plugin import OpenVino
from mbench_openvino.sparse import SparseNet

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.contract.precision import Precision
    from mbench.contract.workload import Workload
    from mbench.sdk.tensors import Native
    from mbench_openvino.layers import Net

__all__ = ["Benchmark", "Runtime"]

KINDS = {"float32": openvino.Type.f32, "bfloat16": openvino.Type.bf16}


class Benchmark(Prepared):
    """A case in OpenVINO. Parameters are constants of the graph, so loading them recompiles it."""

    net: type[Net] = SparseNet
    """The class that builds graphs."""

    @staticmethod
    def precision_differences(precision: Precision) -> list[str]:
        if precision.mixed:
            return ["weights are rounded to bfloat16 once, when the graph is compiled"]
        return []

    def build(self) -> Net:
        self.kind = KINDS[self.precision.parameters]
        self.shapes = self.workload.batch(self.case.batch_size, seed=0)
        net = self.traced()
        net.allocate()
        return net

    def traced(self, natives: Mapping[str, Native] | None = None) -> Net:
        if not self.work.scenario.caches:
            settings = {"kind": self.kind, "natives": natives}
            return traced(self.family, self.net(self.workload.config, self.shapes, **settings))
        net = self.net(self.workload.config, {}, kind=self.kind, natives=natives)
        self.family.behind(net, self.case.batch_size)
        return net

    def place(self, array: np.ndarray) -> Any:
        """In the type that the graph takes. NumPy has no bfloat16: that is OpenVINO's tensor."""
        array = np.ascontiguousarray(array)
        if array.dtype.kind != "f" or self.kind == openvino.Type.f32:
            return array.astype("float32" if array.dtype.kind == "f" else "int64", copy=False)
        tensor = openvino.Tensor(self.kind, array.shape)
        tensor.data[...] = bits(array)
        return tensor

    def placed(self, batch: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """The inputs of the graph, without labels."""
        taken = self.model.inputs
        return super().placed({name: array for name, array in batch.items() if name in taken})

    def loaded(self) -> None:
        for name, native in self.model.natives.items():
            if not np.isfinite(native.tensor).all():
                raise ValueError(f"{name} is not finite: OpenVINO's ReLU would turn it into 0")
        graph = self.traced(self.model.natives).graph()
        self.compiled = self.compiler.compiled(
            graph, precision=self.precision, threads=self.case.threads
        )
        self.request = self.compiled.create_infer_request()

    def prepare_inference(self) -> None:
        """Nothing to do: the graph is compiled whenever parameters are loaded."""

    def infer(self, batch: Mapping[str, Any]) -> dict[str, np.ndarray]:
        if self.settings.get("io") == "shared":
            found = self.request.infer(batch, share_inputs=True, share_outputs=True)
        else:
            found = self.compiled(batch)
        return dict(zip(self.model.outputs, found.values(), strict=True))

    def prepare_prefill(self) -> None:
        size, config = self.case.batch_size, self.decoder
        self.order = np.arange(size, dtype=np.int32)
        self.places = np.arange(config.sequence_length)
        self.shares = self.settings.get("io") == "shared"
        self.differences.append("keys and values are states of the model, to which each run adds")

    def run(self, tokens: np.ndarray, first: int, *, shared: bool) -> np.ndarray:
        """Append tokens (B, L), from position `first` on, to the states; gives logits (B, 1, V)."""
        given = {
            "input_ids": tokens,
            "positions": self.places[first : first + tokens.shape[1]],
            "beam_idx": self.order,
        }
        found = self.request.infer(given, share_inputs=self.shares, share_outputs=shared)
        return next(iter(found.values()))

    def read(self, tokens: np.ndarray, *, shared: bool = False) -> np.ndarray:
        """Replace the states by those of prompts (B, L); gives logits (B, 1, V)."""
        self.request.reset_state()
        return self.run(tokens, 0, shared=shared)

    def prefill(self, batch: Mapping[str, Any]) -> dict[str, np.ndarray]:
        return {"logits": self.read(batch["input_ids"], shared=self.shares)}

    def prepare_decode(self) -> None:
        self.prepare_prefill()
        self.differences.append("each step first sets the states back to those of its prompt")

    def fill(self, batch: Mapping[str, Any]) -> Any:
        """The states after the prompts, and the tokens (B, 1) that follow, with their positions."""
        tokens, prompt = batch["input_ids"], self.decoder.prompt_length
        self.read(tokens[:, :prompt])
        steps = [(np.ascontiguousarray(tokens[:, at : at + 1]), at) for at in self.places[prompt:]]
        return [copied(state.state) for state in self.request.query_state()], steps

    def decode(self, batch: Mapping[str, Any]) -> dict[str, list[np.ndarray]]:
        """Logits are copied: the next token's would overwrite them."""
        kept, steps = self.caches[self.at]
        for state, tensor in zip(self.request.query_state(), kept, strict=True):
            state.state = tensor
        return {"logits": [self.run(token, at, shared=False)[:, 0] for token, at in steps]}

    @staticmethod
    def to_numpy(tensor: Any) -> np.ndarray:
        """What NumPy takes for float16 is in fact bfloat16: the upper half of float32."""
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
        """OpenVINO uses no more threads than cores; a compiled graph reports the number."""
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
        net = SparseNet(workload.config, workload.batch(1, seed=0))
        return traced(self.family(workload), net).natives


def copied(tensor: openvino.Tensor) -> openvino.Tensor:
    found = openvino.Tensor(tensor.element_type, tensor.shape)
    tensor.copy_to(found)
    return found


def traced(family: Any, net: Net) -> Net:
    """The graph of a model, for the batch of `net`; without weights, if `net` has no natives."""
    net.give(family.forward(net, net.batch))
    return net
