"""Layers as nodes of an OpenVINO graph, by canonical names of their tensors.

Shapes: B batch, H W pixels, C channels.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import openvino
from openvino import Type
from openvino import opset15 as ops

from mbench.sdk.networks.graph import Graph

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.sdk.tensors import Native

Value: TypeAlias = openvino.Node | openvino.Output

__all__ = ["Net", "bits", "ops"]


class Net(Graph[Value]):
    """With `natives`, weights are constants of the graph that have their values. Without, tensors
    are found out: inputs stand for them, which take no memory.
    """

    def __init__(
        self,
        config: Any,
        batch: Mapping[str, np.ndarray],
        *,
        kind: Type = Type.f32,
        natives: Mapping[str, Native] | None = None,
    ) -> None:
        super().__init__(config)
        self.kind = kind
        """Of weights, and of inputs that are no integers."""
        self.batch = {
            name: ops.parameter(array.shape, kind if array.dtype.kind == "f" else Type.i64, name)
            for name, array in batch.items()
        }
        self.given = natives

    @property
    def inputs(self) -> list[str]:
        """Those that a node takes: labels are none."""
        return [name for name, node in self.batch.items() if node.output(0).get_target_inputs()]

    def give(self, outputs: Mapping[str, Value]) -> None:
        """Name what the graph gives."""
        self.outputs = {name: ops.result(value, name) for name, value in outputs.items()}

    def graph(self) -> openvino.Model:
        for name, node in self.batch.items():
            node.output(0).get_tensor().set_names({name})
        taken = [self.batch[name] for name in self.inputs]
        return openvino.Model(list(self.outputs.values()), taken, "mbench")

    def tensor(
        self, name: str, shape: Sequence[int], axes: Sequence[int] = (), *, trainable: bool = True
    ) -> Value:
        if self.given is not None:
            return self.constant(self.given[name].tensor)
        self.named(name, shape, axes, trainable=trainable)
        return ops.parameter(list(shape), self.kind, name)

    def constant(self, array: Any) -> Value:
        """Floats in the type of weights, all else as indices."""
        array = np.asarray(array)
        return ops.constant(array, self.kind if array.dtype.kind == "f" else Type.i64)

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
        inputs = x.shape[1] // groups
        weight = self.tensor(f"{name}.weight", (outputs, inputs, *sides))
        settings = ([stride] * 2, list(margins), list(margins), [1, 1])
        if groups == 1:
            x = ops.convolution(x, weight, *settings)
        else:
            weight = self.reshaped(weight, groups, outputs // groups, inputs, *sides)
            x = ops.group_convolution(x, weight, *settings)
        if bias:
            x = ops.add(x, self.reshaped(self.tensor(f"{name}.bias", (outputs,)), 1, outputs, 1, 1))
        return x

    def norm(self, name: str, x: Value) -> Value:
        """By running statistics."""
        tensors = self.norm_tensors(name, x.shape[1])
        return ops.batch_norm_inference(x, *tensors, self.config.epsilon)

    def layer_norm(self, name: str, x: Value) -> Value:
        x = ops.mvn(
            x, self.constant([-1]), normalize_variance=True, eps=self.config.epsilon,
            eps_mode="INSIDE_SQRT",
        )  # fmt: skip
        x = ops.multiply(x, self.tensor(f"{name}.weight", (x.shape[-1],)))
        return self.biased(x, f"{name}.bias")

    def linear(self, name: str, x: Value, outputs: int, *, axes: Sequence[int] = (1, 0)) -> Value:
        """Its weight is (out, in) here, if it is so canonically."""
        shape = (outputs, x.shape[-1]) if axes else (x.shape[-1], outputs)
        product = self.product(x, self.tensor(f"{name}.weight", shape), turned=bool(axes))
        return self.biased(product, f"{name}.bias")

    def product(self, x: Value, y: Value, *, turned: bool = True) -> Value:
        """X Y', or X Y where Y is not `turned`."""
        return ops.matmul(x, y, transpose_a=False, transpose_b=turned)

    def attention(
        self, query: Value, key: Value, value: Value, rate: float, *, causal: bool = False
    ) -> Value:
        if causal:
            raise NotImplementedError
        query, key, value = (self.transposed(one, 0, 2, 1, 3) for one in (query, key, value))
        factor = self.constant(1 / math.sqrt(query.shape[-1]))
        chances = ops.softmax(ops.multiply(self.product(query, key), factor), -1)
        return self.transposed(self.product(chances, value, turned=False), 0, 2, 1, 3)

    def relu(self, x: Value) -> Value:
        return ops.relu(x)

    def relu6(self, x: Value) -> Value:
        return ops.clamp(x, 0.0, 6.0)

    def tanh(self, x: Value) -> Value:
        return ops.tanh(x)

    def gelu(self, x: Value) -> Value:
        return ops.gelu(x, "erf")

    def sum(self, x: Value, y: Value) -> Value:
        return ops.add(x, y)

    def joined(self, *parts: Value) -> Value:
        return ops.concat(list(parts), 1)

    def max_pool(
        self, x: Value, size: int, *, stride: int = 2, padding: int = 0, ceil: bool = False
    ) -> Value:
        margins, rounding = [padding] * 2, "ceil_torch" if ceil else "floor"
        return ops.max_pool(
            x, [stride] * 2, [1, 1], margins, margins, [size] * 2, rounding
        ).output(0)  # fmt: skip

    def mean_pool(self, x: Value, size: int, *, stride: int = 2, padding: int = 0) -> Value:
        margins = [padding] * 2
        return ops.avg_pool(x, [stride] * 2, margins, margins, [size] * 2, exclude_pad=False)

    def regions(self, x: Value, count: int) -> Value:
        if x.shape[2] == count:
            return x
        return ops.adaptive_avg_pool(x, self.constant([count, count]))

    def pixels(self, x: Value) -> Value:
        return ops.reduce_mean(x, self.constant([2, 3]), keep_dims=False)

    def flat(self, x: Value) -> Value:
        return self.reshaped(x, x.shape[0], math.prod(list(x.shape)[1:]))

    def reshaped(self, x: Value, *shape: int) -> Value:
        return ops.reshape(x, self.constant(shape), special_zero=False)

    def transposed(self, x: Value, *axes: int) -> Value:
        return ops.transpose(x, self.constant(axes))

    def rows(self, table: Value, ids: Value) -> Value:
        return ops.gather(table, ids, self.constant(0))

    def first_position(self, x: Value) -> Value:
        return ops.gather(x, self.constant(0), self.constant(1))

    def positions(self, x: Value, chosen: Value) -> Value:
        return ops.gather(x, chosen, self.constant(1), batch_dims=1)

    def scores(self, x: Value, table: Value) -> Value:
        return self.product(x, table)


def bits(array: np.ndarray) -> np.ndarray:
    """`array` in bfloat16, rounded by OpenVINO, as NumPy keeps it: under the name of float16."""
    return ops.constant(array, Type.bf16).data
