"""Layers as nodes of an ONNX graph, by canonical names of their tensors.

Shapes: B batch, H W pixels, C channels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from mbench.sdk.networks.graph import Graph
from mbench.sdk.regions import shares
from mbench.workloads.images import windows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Net", "Value"]

OPSET = 20
IR_VERSION = 10
"""Which went with that set of operators."""
TYPES = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64}


@dataclass(frozen=True)
class Value:
    """What an edge of the graph carries."""

    name: str
    shape: tuple[int, ...]


class Net(Graph[Value]):
    def __init__(self, config: Any, batch: Mapping[str, np.ndarray]) -> None:
        super().__init__(config)
        self.batch = {name: Value(name, array.shape) for name, array in batch.items()}
        self.types = {name: TYPES[wide(array).name] for name, array in batch.items()}
        self.nodes: list[Any] = []
        self.constants: dict[str, np.ndarray] = {}

    @property
    def inputs(self) -> list[str]:
        """Those that a node takes: labels are none."""
        taken = {name for node in self.nodes for name in node.input}
        return [name for name in self.batch if name in taken]

    def add(
        self, kind: str, *inputs: Value, shape: Sequence[int] | None = None, **settings: Any
    ) -> Value:
        """A node and what it gives, of that shape; without one, of its first input's."""
        found = Value(f"{kind}_{len(self.nodes)}", tuple(shape or inputs[0].shape))
        names = [value.name for value in inputs]
        self.nodes.append(helper.make_node(kind, names, [found.name], **settings))
        return found

    def give(self, outputs: Mapping[str, Value]) -> None:
        """Name what the graph gives."""
        for name, value in outputs.items():
            self.nodes.append(helper.make_node("Identity", [value.name], [name]))
            self.outputs[name] = Value(name, value.shape)

    def graph(self) -> bytes:
        """The whole, with the weights as they are now."""
        arrays = {name: native.tensor for name, native in self.natives.items()} | self.constants
        graph = helper.make_graph(
            self.nodes,
            "mbench",
            [helper.make_tensor_value_info(name, self.types[name], self.batch[name].shape)
             for name in self.inputs],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape)
             for name, value in self.outputs.items()],
            [numpy_helper.from_array(array, name) for name, array in arrays.items()],
        )  # fmt: skip
        opset = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=IR_VERSION)
        return bytes(model.SerializeToString())

    def tensor(
        self, name: str, shape: Sequence[int], axes: Sequence[int] = (), *, trainable: bool = True
    ) -> Value:
        self.named(name, shape, axes, trainable=trainable)
        return Value(name, tuple(shape))

    def constant(self, array: Any, kind: str = "int64") -> Value:
        name = f"constant_{len(self.constants)}"
        self.constants[name] = np.array(array, kind)
        return Value(name, self.constants[name].shape)

    def convolved(
        self,
        name: str,
        x: Value,
        outputs: int,
        sides: tuple[int, int],
        margins: tuple[int, int],
        stride: int,
        groups: int,
        bias: bool,
    ) -> Value:
        tensors = [self.tensor(f"{name}.weight", (outputs, x.shape[1] // groups, *sides))]
        if bias:
            tensors.append(self.tensor(f"{name}.bias", (outputs,)))
        pixels = ((n + 2 * m - s) // stride + 1
                  for n, m, s in zip(x.shape[2:], margins, sides, strict=True))  # fmt: skip
        return self.add(
            "Conv", x, *tensors, shape=(x.shape[0], outputs, *pixels), kernel_shape=sides,
            pads=[*margins, *margins], strides=[stride, stride], group=groups,
        )  # fmt: skip

    def norm(self, name: str, x: Value) -> Value:
        """By running statistics."""
        tensors = self.norm_tensors(name, x.shape[1])
        return self.add("BatchNormalization", x, *tensors, epsilon=self.config.epsilon)

    def layer_norm(self, name: str, x: Value) -> Value:
        tensors = [self.tensor(f"{name}.{leaf}", x.shape[-1:]) for leaf in ("weight", "bias")]
        return self.add("LayerNormalization", x, *tensors, axis=-1, epsilon=self.config.epsilon)

    def linear(self, name: str, x: Value, outputs: int, *, axes: Sequence[int] = (1, 0)) -> Value:
        """Of (B, C) one node, of more axes two, whose weight is (in, out)."""
        shape = (*x.shape[:-1], outputs)
        if len(x.shape) == 2 and axes:
            weight = self.tensor(f"{name}.weight", (outputs, x.shape[-1]))
            bias = self.tensor(f"{name}.bias", (outputs,))
            return self.add("Gemm", x, weight, bias, shape=shape, transB=1)
        weight = self.tensor(f"{name}.weight", (x.shape[-1], outputs), axes)
        return self.biased(self.add("MatMul", x, weight, shape=shape), f"{name}.bias")

    def attention(
        self, query: Value, key: Value, value: Value, rate: float, *, causal: bool = False
    ) -> Value:
        if causal:
            raise NotImplementedError
        size, length, heads, width = query.shape
        query, value = (self.transposed(one, 0, 2, 1, 3) for one in (query, value))
        key = self.transposed(key, 0, 2, 3, 1)
        scores = self.add("MatMul", query, key, shape=(size, heads, length, length))
        scores = self.add("Mul", scores, self.constant(1 / math.sqrt(width), "float32"))
        chances = self.add("Softmax", scores, axis=-1)
        return self.transposed(self.add("MatMul", chances, value, shape=query.shape), 0, 2, 1, 3)

    def relu(self, x: Value) -> Value:
        return self.add("Relu", x)

    def relu6(self, x: Value) -> Value:
        return self.add("Clip", x, self.constant(0, "float32"), self.constant(6, "float32"))

    def tanh(self, x: Value) -> Value:
        return self.add("Tanh", x)

    def gelu(self, x: Value) -> Value:
        return self.add("Gelu", x, approximate="none")

    def sum(self, x: Value, y: Value) -> Value:
        return self.add("Add", x, y)

    def joined(self, *parts: Value) -> Value:
        channels = sum(part.shape[1] for part in parts)
        shape = (parts[0].shape[0], channels, *parts[0].shape[2:])
        return self.add("Concat", *parts, shape=shape, axis=1)

    def pool(
        self, kind: str, x: Value, size: int, stride: int, padding: int, *, ceil: bool = False,
        **settings: int,
    ) -> Value:  # fmt: skip
        shape = (
            windows(pixels, size, stride=stride, padding=padding, ceil=ceil)
            for pixels in x.shape[2:]
        )
        return self.add(
            kind, x, shape=(*x.shape[:2], *shape), kernel_shape=[size, size],
            pads=[padding] * 4, strides=[stride, stride], ceil_mode=int(ceil), **settings,
        )  # fmt: skip

    def max_pool(
        self, x: Value, size: int, *, stride: int = 2, padding: int = 0, ceil: bool = False
    ) -> Value:
        return self.pool("MaxPool", x, size, stride, padding, ceil=ceil)

    def mean_pool(self, x: Value, size: int, *, stride: int = 2, padding: int = 0) -> Value:
        return self.pool("AveragePool", x, size, stride, padding, count_include_pad=1)

    def regions(self, x: Value, count: int) -> Value:
        side = x.shape[2]
        if side == count:
            return x
        parts = shares(side, count)  # (count, H)
        rows, columns = self.constant(parts, "float32"), self.constant(parts.T, "float32")
        x = self.add("MatMul", rows, x, shape=(*x.shape[:2], count, side))
        return self.add("MatMul", x, columns, shape=(*x.shape[:3], count))

    def pixels(self, x: Value) -> Value:
        return self.flat(self.add("GlobalAveragePool", x, shape=(*x.shape[:2], 1, 1)))

    def flat(self, x: Value) -> Value:
        return self.add("Flatten", x, shape=(x.shape[0], math.prod(x.shape[1:])))

    def reshaped(self, x: Value, *shape: int) -> Value:
        return self.add("Reshape", x, self.constant(shape), shape=shape)

    def transposed(self, x: Value, *axes: int) -> Value:
        return self.add("Transpose", x, shape=[x.shape[at] for at in axes], perm=axes)

    def rows(self, table: Value, ids: Value) -> Value:
        return self.add("Gather", table, ids, shape=(*ids.shape, *table.shape[1:]), axis=0)

    def first_position(self, x: Value) -> Value:
        return self.add("Gather", x, self.constant(0), shape=(x.shape[0], *x.shape[2:]), axis=1)

    def positions(self, x: Value, chosen: Value) -> Value:
        places = self.add("Unsqueeze", chosen, self.constant([2]), shape=(*chosen.shape, 1))
        shape = (*chosen.shape, x.shape[-1])
        return self.add("GatherND", x, places, shape=shape, batch_dims=1)

    def scores(self, x: Value, table: Value) -> Value:
        turned = self.transposed(table, 1, 0)  # a constant, so done once
        return self.add("MatMul", x, turned, shape=(*x.shape[:-1], table.shape[0]))


def wide(array: np.ndarray) -> np.dtype[Any]:
    """The type in which an input is fed."""
    return np.dtype("float32" if array.dtype.kind == "f" else "int64")
