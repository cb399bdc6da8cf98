"""Layers as nodes of an OpenVINO graph, by canonical names of their tensors.

Shapes: B batch, H W pixels, C channels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import openvino
from openvino import Type
from openvino import opset15 as ops

from mbench.sdk.tensors import Native

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Value = openvino.Node | openvino.Output

__all__ = ["Net", "bits", "ops"]


@dataclass(frozen=True)
class Shape:
    """Of a tensor that has no memory yet."""

    shape: tuple[int, ...]


class Net:
    """A graph in the making: each layer adds its nodes, and names the tensors that it needs.

    With `natives` their values are constants of the graph. Without, the tensors are found out:
    inputs stand for them, which take no memory.
    """

    def __init__(
        self,
        config: Any,
        batch: Mapping[str, np.ndarray],
        *,
        kind: Type = Type.f32,
        natives: Mapping[str, Native] | None = None,
    ) -> None:
        self.config = config
        """The workload's. Its `epsilon` is the norms'."""
        self.kind = kind
        """Of weights, and of inputs that are no integers."""
        self.batch = {
            name: ops.parameter(array.shape, kind if array.dtype.kind == "f" else Type.i64, name)
            for name, array in batch.items()
        }
        self.given = natives
        self.natives: dict[str, Native] = {}
        self.outputs: dict[str, Value] = {}

    @property
    def inputs(self) -> list[str]:
        """Those that a node takes: labels are none."""
        return [name for name, node in self.batch.items() if node.output(0).get_target_inputs()]

    def give(self, outputs: Mapping[str, Value]) -> None:
        """Name what the graph gives."""
        self.outputs = {name: ops.result(value, name) for name, value in outputs.items()}

    def allocate(self) -> None:
        self.natives = {
            name: Native(np.zeros(native.tensor.shape, np.float32), native.trainable, native.axes)
            for name, native in self.natives.items()
        }

    def graph(self) -> openvino.Model:
        for name, node in self.batch.items():
            node.output(0).get_tensor().set_names({name})
        taken = [self.batch[name] for name in self.inputs]
        return openvino.Model(list(self.outputs.values()), taken, "mbench")

    def tensor(self, name: str, shape: Sequence[int], *, trainable: bool = True) -> Value:
        if self.given is not None:
            return self.constant(self.given[name].tensor)
        self.natives[name] = Native(Shape(tuple(shape)), trainable)
        return ops.parameter(list(shape), self.kind, name)

    def constant(self, array: Any) -> Value:
        """Floats in the type of weights, all else as indices."""
        array = np.asarray(array)
        return ops.constant(array, self.kind if array.dtype.kind == "f" else Type.i64)

    def relu(self, x: Value) -> Value:
        return ops.relu(x)

    def relu6(self, x: Value) -> Value:
        return ops.clamp(x, 0.0, 6.0)

    def tanh(self, x: Value) -> Value:
        return ops.tanh(x)

    def gelu(self, x: Value) -> Value:
        return ops.gelu(x, "erf")

    def softmax(self, x: Value) -> Value:
        """Over the last axis."""
        return ops.softmax(x, -1)

    def times(self, x: Value, factor: float) -> Value:
        return ops.multiply(x, self.constant(factor))

    def rows(self, of: Value, ids: Value, *, axis: int = 0, each: bool = False) -> Value:
        """Those of an axis; with `each`, of each sample its own."""
        return ops.gather(of, ids, self.constant(axis), batch_dims=int(each))

    def sum(self, x: Value, y: Value) -> Value:
        return ops.add(x, y)

    def conv(
        self,
        name: str,
        x: Value,
        outputs: int,
        kernel: int | tuple[int, int] = 1,
        *,
        stride: int = 1,
        padding: int | None = None,
        groups: int = 1,
        bias: bool = False,
    ) -> Value:
        """Padded by `padding` zeros on every side; where none are named, by half its kernel."""
        sides = (kernel, kernel) if isinstance(kernel, int) else kernel
        margins = [s // 2 if padding is None else padding for s in sides]
        inputs = x.shape[1] // groups
        weight = self.tensor(f"{name}.weight", (outputs, inputs, *sides))
        settings = ([stride] * 2, margins, margins, [1, 1])
        if groups == 1:
            x = ops.convolution(x, weight, *settings)
        else:
            weight = self.reshaped(weight, groups, outputs // groups, inputs, *sides)
            x = ops.group_convolution(x, weight, *settings)
        if bias:
            x = ops.add(x, self.reshaped(self.tensor(f"{name}.bias", (outputs,)), 1, outputs, 1, 1))
        return x

    def norm(self, name: str, x: Value) -> Value:
        """Batch norm by running statistics."""
        shape = (x.shape[1],)
        tensors = [self.tensor(f"{name}.{leaf}", shape) for leaf in ("weight", "bias")]
        for leaf in ("running_mean", "running_var"):
            tensors.append(self.tensor(f"{name}.{leaf}", shape, trainable=False))
        return ops.batch_norm_inference(x, *tensors, self.config.epsilon)

    def normed(self, conv: str, norm: str, x: Value, *shape: Any, **settings: int) -> Value:
        """A convolution and its batch norm, by their names."""
        return self.norm(norm, self.conv(conv, x, *shape, **settings))

    def layer_norm(self, name: str, x: Value) -> Value:
        shape = (x.shape[-1],)
        x = ops.mvn(
            x, self.constant([-1]), normalize_variance=True, eps=self.config.epsilon,
            eps_mode="INSIDE_SQRT",
        )  # fmt: skip
        x = ops.multiply(x, self.tensor(f"{name}.weight", shape))
        return ops.add(x, self.tensor(f"{name}.bias", shape))

    def linear(self, name: str, x: Value, outputs: int) -> Value:
        product = self.product(x, self.tensor(f"{name}.weight", (outputs, x.shape[-1])))
        return ops.add(product, self.tensor(f"{name}.bias", (outputs,)))

    def product(self, x: Value, y: Value, *, turned: bool = True) -> Value:
        """X Y', or X Y where Y is not `turned`."""
        return ops.matmul(x, y, transpose_a=False, transpose_b=turned)

    def max_pool(
        self, x: Value, size: int, *, stride: int = 2, padding: int = 0, ceil: bool = False
    ) -> Value:
        """`ceil` lets the last window jut out, unless it would begin beyond the image."""
        margins, rounding = [padding] * 2, "ceil_torch" if ceil else "floor"
        return ops.max_pool(
            x, [stride] * 2, [1, 1], margins, margins, [size] * 2, rounding
        ).output(0)  # fmt: skip

    def mean_pool(self, x: Value, size: int, *, stride: int = 2, padding: int = 0) -> Value:
        """Zeros around the image count."""
        margins = [padding] * 2
        return ops.avg_pool(x, [stride] * 2, margins, margins, [size] * 2, exclude_pad=False)

    def regions(self, x: Value, count: int) -> Value:
        """(B, C, H, W) -> (B, C, count, count): means over as many regions per side."""
        if x.shape[2] == count:
            return x
        return ops.adaptive_avg_pool(x, self.constant([count, count]))

    def mean(self, x: Value) -> Value:
        """(B, C, H, W) -> (B, C)."""
        return ops.reduce_mean(x, self.constant([2, 3]), keep_dims=False)

    def flatten(self, x: Value) -> Value:
        return self.reshaped(x, x.shape[0], math.prod(list(x.shape)[1:]))

    def joined(self, *parts: Value) -> Value:
        """Along channels."""
        return ops.concat(list(parts), 1)

    def reshaped(self, x: Value, *shape: int) -> Value:
        return ops.reshape(x, self.constant(shape), special_zero=False)

    def transposed(self, x: Value, *axes: int) -> Value:
        return ops.transpose(x, self.constant(axes))


def bits(array: np.ndarray) -> np.ndarray:
    """`array` in bfloat16, rounded by OpenVINO, as NumPy keeps it: under the name of float16."""
    return ops.constant(array, Type.bf16).data
