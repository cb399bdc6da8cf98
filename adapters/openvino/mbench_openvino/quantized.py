"""A case in int8: weights are the core's integers, converted and scaled in the graph. OpenVINO
keeps the integers as they are, and rounds activations by its dynamic quantisation.

See https://docs.openvino.ai/2025/openvino-workflow/model-optimization-guide/weight-compression.html.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import openvino
from openvino import Type
from openvino import opset15 as ops

from mbench.contract.quantized import has_integers
from mbench.sdk.checks import require
from mbench.sdk.quantized import Integers, allocated
from mbench_openvino.compiler import GROUP
from mbench_openvino.layers import Net
from mbench_openvino.runtime import Benchmark as Plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.contract.precision import Precision
    from mbench_openvino.layers import Value

__all__ = ["Benchmark"]

ROUNDED = 1e-4
"""The relative error of a product is larger than this only if activations are rounded."""


class IntegerNet(Net):
    """Its linear layers take weights (out, in), which the graph computes from integers."""

    def allocate(self) -> None:
        self.natives = allocated(self.natives)

    def tensor(
        self, name: str, shape: Sequence[int], axes: Sequence[int] = (), *, trainable: bool = True
    ) -> Value:
        native = (self.given or {}).get(name)
        if not isinstance(native, Integers):
            return super().tensor(name, shape, axes, trainable=trainable)
        assert has_integers(name, shape), name
        return scaled(*native.integers())


def scaled(integers: np.ndarray, scales: np.ndarray) -> Value:
    """A weight (out, in), from constants that OpenVINO recognises as a compressed weight."""
    numbers = ops.convert(ops.constant(integers, Type.i8), Type.f32)
    return ops.multiply(numbers, ops.constant(scales[:, None], Type.f32))


class Benchmark(Plain):
    """A case in OpenVINO on integers."""

    net = IntegerNet

    @staticmethod
    def precision_differences(precision: Precision) -> list[str]:
        return [
            f"int8: dynamic quantisation rounds activations to 8 bits, {GROUP} in a row by a scale"
        ]

    def build(self) -> Net:
        require(self.rounds(), "OpenVINO rounds no activations on this processor: its int8 would "
                               "be of weights alone")  # fmt: skip
        return super().build()

    def rounds(self) -> bool:
        """Whether a product shows that activations are rounded; this depends on the processor."""
        drawn = np.random.default_rng(0)
        x = drawn.standard_normal((4, 2 * GROUP)).astype(np.float32)
        integers = drawn.integers(-127, 128, (GROUP, 2 * GROUP)).astype(np.int8)
        scales = np.full(GROUP, 0.01, np.float32)
        given = ops.parameter(x.shape, Type.f32, "x")
        product = ops.matmul(given, scaled(integers, scales), transpose_a=False, transpose_b=True)
        model = openvino.Model([ops.result(product)], [given], "rounds")
        settings: dict[str, Any] = {"precision": self.precision, "threads": self.case.threads}
        found = self.compiler.compiled(model, **settings)(x)[0]
        exact = x.astype(np.float64) @ (integers * 0.01).T
        return bool(np.abs(found - exact).max() > ROUNDED * np.abs(exact).max())
