"""A case in int8: linear layers have the core's integers, in ONNX's form of dynamic quantisation.

DynamicQuantizeLinear, MatMulInteger and the product with both scales: ONNX Runtime fuses them, see
https://onnxruntime.ai/docs/performance/model-optimizations/quantization.html.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto

from mbench.contract.quantized import has_integers
from mbench.sdk.checks import require
from mbench.sdk.quantized import Integers, allocated
from mbench_onnxruntime.layers import Net, Value
from mbench_onnxruntime.runtime import Benchmark as Plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.contract.precision import Precision

__all__ = ["Benchmark"]

SATURATED = 0.03
"""The relative error of a product is larger than this only if sums saturate."""
SCALES = ".scales"
"""The suffix that turns the name of a weight into that of its scales."""


class IntegerNet(Net):
    """Its linear layers share the rounding of an input that they have in common."""

    def __init__(self, *settings: Any, **named: Any) -> None:
        super().__init__(*settings, **named)
        self.rounded: dict[str, list[Value]] = {}
        """Integers, their scale and their zero point, by the name of the value rounded."""

    def allocate(self) -> None:
        self.natives = allocated(self.natives)

    def values(self) -> dict[str, np.ndarray]:
        """Integers are (in, out) in the graph."""
        found = super().values()
        for name, native in self.natives.items():
            if isinstance(native, Integers):
                integers, scales = native.integers()
                found[name] = np.ascontiguousarray(integers.T)
                found[f"{name}{SCALES}"] = scales
        return found

    def linear(self, name: str, x: Value, outputs: int, *, axes: Sequence[int] = (1, 0)) -> Value:
        assert axes, "a family whose weights are (in, out)"
        return self.biased(self.projected(name, x, outputs), f"{name}.bias")

    def projected(self, name: str, x: Value, outputs: int) -> Value:
        return self.multiplied(f"{name}.weight", x, outputs)

    def mixed(self, name: str, x: Value) -> Value:
        product = self.multiplied(f"{name}.in_proj_weight", x, 3 * x.shape[-1])
        return self.biased(product, f"{name}.in_proj_bias")

    def multiplied(self, weight: str, x: Value, outputs: int) -> Value:
        inputs = x.shape[-1]
        assert has_integers(weight, (outputs, inputs)), weight
        self.named(weight, (outputs, inputs), (), trainable=True)
        if x.name not in self.rounded:
            self.rounded[x.name] = self.several("DynamicQuantizeLinear", [x], [x.shape, (), ()])
        integers, scale, zero = self.rounded[x.name]
        both = Value(weight, (inputs, outputs)), Value(f"{weight}{SCALES}", (outputs,))
        shape = (*x.shape[:-1], outputs)
        sums = self.add("MatMulInteger", integers, both[0], zero, shape=shape)
        sums = self.add("Cast", sums, to=TensorProto.FLOAT)
        return self.product(sums, self.add("Mul", scale, both[1], shape=(outputs,)))


class Benchmark(Plain):
    """A case in ONNX Runtime on integers."""

    net = IntegerNet

    @staticmethod
    def precision_differences(precision: Precision) -> list[str]:
        return [
            "int8: DynamicQuantizeLinear rounds activations to 8 bits, all of a tensor by one "
            "scale and zero point"
        ]

    def build(self) -> Net:
        require(
            not self.saturates(),
            "sums of int8 products saturate at 16 bits on this processor at this level: use "
            "--compiler extended or --compiler all",
        )
        return super().build()

    def saturates(self) -> bool:
        """Whether a product shows that sums saturate; this depends on processor and level."""
        drawn = np.random.default_rng(0)
        x = drawn.standard_normal((4, 256)).astype(np.float32)
        integers = drawn.integers(-127, 128, (128, 256)).astype(np.int8)
        net = self.net({}, {"x": x})
        net.give({"y": net.multiplied("one.weight", net.batch["x"], len(integers))})
        net.allocate()
        weight = net.natives["one.weight"]
        assert isinstance(weight, Integers)
        weight.take(integers, np.ones(len(integers), np.float32))
        session = self.compiler.session(net.graph(), {}, threads=self.case.threads)
        (found,) = session.run(["y"], {"x": x})
        exact = x.astype(np.float64) @ integers.T
        return bool(np.linalg.norm(found - exact) > SATURATED * np.linalg.norm(exact))
