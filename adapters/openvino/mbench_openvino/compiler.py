"""How OpenVINO compiles a graph for the processor, and which precisions it chooses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import openvino

from mbench.sdk.checks import require
from mbench.sdk.compiler import Compiler

if TYPE_CHECKING:
    from mbench.contract.precision import Precision

__all__ = ["COMPILERS", "Latency", "products"]

HINTS = {"float32": "f32", "bfloat16": "bf16"}
"""Hints for inference precision, by the type of products."""
GROUP = 32
"""Activations that share a scale in int8: OpenVINO's default."""
PRODUCTS = ("Convolution", "FullyConnected", "MatMul", "ScaledDotProductAttention")
"""Kinds of layers that do nearly all the work in a compiled graph."""


class Latency(Compiler):
    """One request at a time, on all threads. It is done when the call returns."""

    differences = (
        "weights are constants of the graph; batch norm is folded into the convolution before it",
    )

    def compiled(
        self, model: openvino.Model, *, precision: Precision, threads: int
    ) -> openvino.CompiledModel:
        """Raises Unsupported if OpenVINO chooses another precision."""
        hint = HINTS[precision.products]
        settings = {
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_NUM_THREADS": threads,
            "INFERENCE_PRECISION_HINT": hint,
        }
        if precision.quantized:
            settings["DYNAMIC_QUANTIZATION_GROUP_SIZE"] = GROUP
        if model.get_sinks():  # OpenVINO would round their keys and values to 8 bits
            settings["KV_CACHE_PRECISION"] = hint
        found = openvino.Core().compile_model(model, "CPU", settings)
        kinds = sorted(products(found))
        expected: tuple[list[str], ...] = ([], [hint])
        if precision.quantized:  # only those of linear layers are in int8
            expected = (["i8"], [hint, "i8"])
        require(kinds in expected, f"products are in {kinds} here, and not in {expected[1]} alone")
        return found


def products(compiled: openvino.CompiledModel) -> set[str]:
    """The precisions in which products will run, as OpenVINO reports them."""
    layers = (layer.get_rt_info() for layer in compiled.get_runtime_model().get_ops())
    return {
        layer["runtimePrecision"].astype(str)
        for layer in layers
        if layer["layerType"].astype(str) in PRODUCTS
    }


COMPILERS: dict[str, type[Latency]] = {"latency": Latency}
