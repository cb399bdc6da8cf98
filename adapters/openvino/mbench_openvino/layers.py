"""Layers as nodes of an OpenVINO graph, by canonical names of their tensors.

Shapes: B batch, H W pixels, C channels; for decoders, L sequence, Q heads, H heads of keys and
values, W width of a head, T positions of a cache.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import openvino
from openvino import Type
from openvino import opset15 as ops
from openvino.passes import MakeStateful, Manager

from mbench.sdk.networks.graph import Graph

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.sdk.tensors import Native


@dataclass(frozen=True)
class Open:
    """An input with a length that varies from run to run, which is -1 in `shape`; `node` has no
    shape then.
    """

    node: openvino.Node
    shape: tuple[int, ...]


Value: TypeAlias = openvino.Node | openvino.Output | Open

__all__ = ["Net", "Open", "Type", "bits", "ops"]

END = 2**31 - 1
"""The end of a slice that goes to the end of its axis."""
HIDDEN = -(2.0**100)
"""Added to scores of positions that are not seen: in bfloat16, infinities would become NaN."""


class Net(Graph[Value]):
    """With `natives`, weights are constants of the graph that have their values. Without, the graph
    only shows which tensors there are: inputs, which take no memory, stand for them.
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
        """Type of weights, and of inputs that are not integers."""
        self.batch = {
            name: ops.parameter(array.shape, kind if array.dtype.kind == "f" else Type.i64, name)
            for name, array in batch.items()
        }
        self.given = natives
        self.states: dict[str, str] = {}
        """Inputs that become states, with the names of the outputs that update them."""

    def input(self, name: str, shape: Sequence[int], kind: Type) -> Open:
        lengths = [openvino.Dimension(length) for length in shape]  # -1 stands for any
        self.batch[name] = ops.parameter(openvino.PartialShape(lengths), kind, name)
        return Open(self.batch[name], tuple(shape))

    @property
    def inputs(self) -> list[str]:
        """Names of the inputs that a node uses; labels are not among them."""
        return [name for name, node in self.batch.items() if node.output(0).get_target_inputs()]

    def give(self, outputs: Mapping[str, Value]) -> None:
        """Name the outputs of the graph."""
        self.outputs = {name: ops.result(value, name) for name, value in outputs.items()}

    def graph(self) -> openvino.Model:
        for name, node in self.batch.items():
            node.output(0).get_tensor().set_names({name})
        given: dict[str, Any] = self.outputs
        for name, node in given.items():
            node.output(0).get_tensor().set_names({name})
        taken = [self.batch[name] for name in self.inputs]
        model = openvino.Model(list(given.values()), taken, "mbench")
        return self.stateful(model) if self.states else model

    def stateful(self, model: openvino.Model) -> openvino.Model:
        """The model with initially empty states, which MakeStateful alone does not set."""
        manager = Manager()
        manager.register_pass(MakeStateful(self.states))
        manager.run_passes(model)
        for node in model.get_ops():
            if node.get_type_name() == "ReadValue":
                shape = [max(0, length) for length in lengths(node)]
                node.set_arguments([self.constant(np.zeros(shape))])
        model.validate_nodes_and_infer_types()
        return model

    def tensor(
        self, name: str, shape: Sequence[int], axes: Sequence[int] = (), *, trainable: bool = True
    ) -> Value:
        if self.given is not None:
            return self.constant(self.given[name].tensor)
        self.named(name, shape, axes, trainable=trainable)
        return ops.parameter(list(shape), self.kind, name)

    def constant(self, array: Any) -> Value:
        """Floats get the type of weights, all else becomes int64, as indices."""
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
        """Batch norm with running statistics."""
        tensors = self.norm_tensors(name, x.shape[1])
        return ops.batch_norm_inference(x, *tensors, self.config.epsilon)

    def layer_norm(self, name: str, x: Value) -> Value:
        x = self.plain_norm(x)
        x = ops.multiply(x, self.tensor(f"{name}.weight", (x.shape[-1],)))
        return self.biased(x, f"{name}.bias")

    def linear(self, name: str, x: Value, outputs: int, *, axes: Sequence[int] = (1, 0)) -> Value:
        """The weight has its canonical layout here."""
        shape = (outputs, x.shape[-1]) if axes else (x.shape[-1], outputs)
        product = self.matrix_product(x, self.tensor(f"{name}.weight", shape), turned=bool(axes))
        return self.biased(product, f"{name}.bias")

    def matrix_product(self, x: Value, y: Value, *, turned: bool = True) -> Value:
        """x times the transpose of y, or x times y if it is not `turned`."""
        return ops.matmul(x, y, transpose_a=False, transpose_b=turned)

    def attention(
        self, query: Value, key: Value, value: Value, rate: float, *, causal: bool = False
    ) -> Value:
        if causal:
            raise NotImplementedError
        query, key, value = (self.transposed(one, 0, 2, 1, 3) for one in (query, key, value))
        factor = self.constant(1 / math.sqrt(query.shape[-1]))
        chances = ops.softmax(ops.multiply(self.matrix_product(query, key), factor), -1)
        return self.transposed(self.matrix_product(chances, value, turned=False), 0, 2, 1, 3)

    def relu(self, x: Value) -> Value:
        return ops.relu(x)

    def relu6(self, x: Value) -> Value:
        return ops.clamp(x, 0.0, 6.0)

    def tanh(self, x: Value) -> Value:
        return ops.tanh(x)

    def gelu(self, x: Value) -> Value:
        return ops.gelu(x, "erf")

    def tanh_gelu(self, x: Value) -> Value:
        return ops.gelu(x, "tanh")

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
        return ops.gather(table, ids.node if isinstance(ids, Open) else ids, self.constant(0))

    def first_position(self, x: Value) -> Value:
        return ops.gather(x, self.constant(0), self.constant(1))

    def positions(self, x: Value, chosen: Value) -> Value:
        return ops.gather(x, chosen, self.constant(1), batch_dims=1)

    # For vision transformers.

    def patches(self, x: Value) -> Value:
        flat = self.reshaped(x, *list(x.shape)[:2], -1)
        return self.transposed(flat, 0, 2, 1)

    def led(self, x: Value, name: str) -> Value:
        size, _, hidden = x.shape
        token = self.tensor(name, (1, 1, hidden))
        return ops.concat([ops.broadcast(token, self.constant((size, 1, hidden))), x], 1)

    def placed(self, x: Value, name: str) -> Value:
        return ops.add(x, self.tensor(name, (1, *list(x.shape)[1:])))

    def mixed(self, name: str, x: Value) -> Value:
        hidden = x.shape[-1]
        x = ops.matmul(
            x, self.tensor(f"{name}.in_proj_weight", (3 * hidden, hidden)),
            transpose_a=False, transpose_b=True,
        )  # fmt: skip
        return self.biased(x, f"{name}.in_proj_bias")

    def thirds(self, x: Value) -> list[Value]:
        return self.parts(x, 3)

    def scores(self, x: Value, table: Value) -> Value:
        return self.matrix_product(x, table)

    # For diffusion transformers.

    def image(self, x: Value, side: int, patch: int) -> Value:
        size, _, numbers = x.shape
        x = self.reshaped(x, size, side, side, patch, patch, numbers // patch**2)
        x = self.transposed(x, 0, 5, 1, 3, 2, 4)
        return self.reshaped(x, size, numbers // patch**2, side * patch, side * patch)

    def plain_norm(self, x: Value) -> Value:
        return ops.mvn(
            x, self.constant([-1]), normalize_variance=True, eps=self.config.epsilon,
            eps_mode="INSIDE_SQRT",
        )  # fmt: skip

    def modulated(self, x: Value, shift: Value, scale: Value) -> Value:
        scale = ops.add(scale, self.constant(1.0))
        places = self.constant([1])
        return ops.add(self.gated(x, scale), ops.unsqueeze(shift, places))

    def gated(self, x: Value, gate: Value) -> Value:
        return ops.multiply(x, ops.unsqueeze(gate, self.constant([1])))

    def parts(self, x: Value, count: int) -> list[Value]:
        return list(ops.split(x, self.constant(-1), count).outputs())

    # For decoders.

    def rms_norm(self, name: str, x: Value) -> Value:
        """In the form that OpenVINO fuses."""
        squares = ops.power(x, self.constant(2.0))
        mean = ops.reduce_mean(squares, self.constant([-1]), keep_dims=True)
        root = ops.sqrt(ops.add(mean, self.constant(self.config.epsilon)))
        scaled = ops.multiply(x, ops.divide(self.constant(1.0), root))
        return ops.multiply(scaled, self.tensor(f"{name}.weight", lengths(x)[-1:]))

    def projected(self, name: str, x: Value, outputs: int) -> Value:
        """The weight is (out, in) here."""
        return self.matrix_product(x, self.tensor(f"{name}.weight", (outputs, lengths(x)[-1])))

    def silu(self, x: Value) -> Value:
        return ops.swish(x, self.constant(1.0))

    def product(self, x: Value, y: Value) -> Value:
        return ops.multiply(x, y)

    def rotated(self, x: Value, cosines: Value, sines: Value) -> Value:
        heads = self.constant([1])
        cosines, sines = (ops.unsqueeze(table, heads) for table in (cosines, sines))
        one, other = self.pairs(x)
        turned = [
            ops.subtract(ops.multiply(one, cosines), ops.multiply(other, sines)),
            ops.add(ops.multiply(other, cosines), ops.multiply(one, sines)),
        ]
        return ops.concat(turned, 3)

    def pairs(self, x: Value) -> Sequence[Value]:
        """The first and the second half of the channels, which are rotated as pairs."""
        halves: Sequence[Value] = ops.split(x, self.constant(3), 2).outputs()
        return halves

    def grouped_attention(
        self, query: Value, key: Value, value: Value, position: Value | None = None
    ) -> Value:
        query, key, value = (self.transposed(one, 0, 2, 1, 3) for one in (query, key, value))
        return self.attended(query, key, value)

    def attention_behind(
        self, query: Value, key: Value, value: Value, past: Sequence[Open], order: Open, mask: Value
    ) -> list[Value]:
        """Attention on (B, L, Q, W), (B, L, H, W), (B, L, H, W), the latter two appended to the
        `past` (B, H, T, W) in the `order` of sequences (B,). Returns (B, L, Q, W), and keys and
        values (B, H, T + L, W). The order lets OpenVINO fuse this and the states into one node.
        """
        query, *new = (self.transposed(one, 0, 2, 1, 3) for one in (query, key, value))
        first = self.constant(0)
        kept = [ops.gather(one.node, order.node, first) for one in past]
        keys, values = (ops.concat(pair, 2) for pair in zip(kept, new, strict=True))
        return [self.attended(query, keys, values, mask), keys, values]

    def attended(self, query: Value, key: Value, value: Value, mask: Value | None = None) -> Value:
        """(B, Q, L, W), (B, H, T, W), (B, H, T, W) -> (B, L, Q, W). Causal if there is no mask
        (1, 1, L, T).
        """
        heads = lengths(query)[1]
        key, value = (self.repeated(one, heads) for one in (key, value))
        masks = [] if mask is None else [mask]
        found = ops.scaled_dot_product_attention(query, key, value, *masks, causal=mask is None)
        return self.transposed(found, 0, 2, 1, 3)

    def repeated(self, x: Value, heads: int) -> Value:
        """(B, H, T, W) -> (B, Q, T, W): each head for consecutive query heads."""
        size, shared, _, width = lengths(x)
        if shared == heads:
            return x
        x = ops.unsqueeze(x, self.constant([2]))
        times = self.constant([1, 1, heads // shared, 1, 1])
        x = ops.broadcast(x, times, broadcast_spec="BIDIRECTIONAL")
        return self.reshaped(x, size, heads, -1, width)

    def mask(self, positions: Open) -> Value:
        """(1, 1, L, T): each of these positions (L,) sees itself and all before it."""
        zero, one = self.constant(0), self.constant(1)
        end = ops.add(ops.gather(positions.node, self.constant(-1), zero), one)
        places = ops.unsqueeze(ops.range(zero, end, one, Type.i64), zero)
        seen = ops.less_equal(places, ops.unsqueeze(positions.node, one))
        mask = ops.select(seen, self.constant(0.0), self.constant(HIDDEN))
        return ops.unsqueeze(mask, self.constant([0, 1]))

    def last_positions(self, x: Value, count: int) -> Value:
        return ops.slice(x, *(self.constant([at]) for at in (-count, END, 1, 1)))


def lengths(x: Value) -> list[int]:
    """The shape of `x`; -1 stands for a length that varies from run to run."""
    if isinstance(x, Open):
        return list(x.shape)
    found = x.get_output_partial_shape(0) if isinstance(x, openvino.Node) else x.partial_shape
    return [length.get_length() if length.is_static else -1 for length in found]


def bits(array: np.ndarray) -> np.ndarray:
    """`array` rounded to bfloat16 by OpenVINO; NumPy takes its type for float16."""
    return ops.constant(array, Type.bf16).data
