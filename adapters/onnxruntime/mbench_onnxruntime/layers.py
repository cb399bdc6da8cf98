"""Layers as nodes of an ONNX graph, by canonical names of their tensors.

Shapes: B batch, H W pixels, C channels; for decoders, L sequence, D hidden, Q heads, H heads of
keys and values, W width of a head, T positions of a cache. -1 stands for a length that varies from
run to run.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from onnx import helper

from mbench.sdk.regions import shares
from mbench.workloads.images import windows
from mbench_onnxruntime.graph import CONTRIBUTED, OnnxGraph, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Net", "Value"]

END = 2**63 - 1
"""The end of a slice that goes to the end of its axis."""


class Net(OnnxGraph):
    """The layers of all families."""

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
        """Batch norm with running statistics."""
        tensors = self.norm_tensors(name, x.shape[1])
        return self.add("BatchNormalization", x, *tensors, epsilon=self.config.epsilon)

    def layer_norm(self, name: str, x: Value) -> Value:
        tensors = [self.tensor(f"{name}.{leaf}", x.shape[-1:]) for leaf in ("weight", "bias")]
        return self.add("LayerNormalization", x, *tensors, axis=-1, epsilon=self.config.epsilon)

    def linear(self, name: str, x: Value, outputs: int, *, axes: Sequence[int] = (1, 0)) -> Value:
        """One node for (B, C) if the canonical weight is (out, in); else two, with (in, out)."""
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
        scores = self.add("Mul", scores, self.constant(1 / math.sqrt(width)))
        chances = self.add("Softmax", scores, axis=-1)
        return self.transposed(self.add("MatMul", chances, value, shape=query.shape), 0, 2, 1, 3)

    def relu(self, x: Value) -> Value:
        return self.add("Relu", x)

    def relu6(self, x: Value) -> Value:
        return self.add("Clip", x, self.constant(0.0), self.constant(6.0))

    def tanh(self, x: Value) -> Value:
        return self.add("Tanh", x)

    def gelu(self, x: Value) -> Value:
        return self.add("Gelu", x, approximate="none")

    def tanh_gelu(self, x: Value) -> Value:
        return self.add("Gelu", x, approximate="tanh")

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
        rows, columns = self.constant(parts), self.constant(parts.T)
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

    # For vision transformers.

    def patches(self, x: Value) -> Value:
        size, hidden, high, wide = x.shape
        return self.transposed(self.reshaped(x, size, hidden, high * wide), 0, 2, 1)

    def led(self, x: Value, name: str) -> Value:
        size, length, hidden = x.shape
        token, shape = self.tensor(name, (1, 1, hidden)), (size, 1, hidden)
        token = self.add("Expand", token, self.constant(shape), shape=shape)
        return self.add("Concat", token, x, shape=(size, length + 1, hidden), axis=1)

    def placed(self, x: Value, name: str) -> Value:
        return self.sum(x, self.tensor(name, (1, *x.shape[1:])))

    def mixed(self, name: str, x: Value) -> Value:
        """The weight is (in, out) here."""
        hidden = x.shape[-1]
        weight = self.tensor(f"{name}.in_proj_weight", (hidden, 3 * hidden), (1, 0))
        x = self.add("MatMul", x, weight, shape=(*x.shape[:-1], 3 * hidden))
        return self.biased(x, f"{name}.in_proj_bias")

    def thirds(self, x: Value) -> list[Value]:
        return self.parts(x, 3)

    # For diffusion transformers.

    def image(self, x: Value, side: int, patch: int) -> Value:
        size, channels = x.shape[0], x.shape[2] // patch**2
        x = self.reshaped(x, size, side, side, patch, patch, channels)
        x = self.transposed(x, 0, 5, 1, 3, 2, 4)
        return self.reshaped(x, size, channels, side * patch, side * patch)

    def plain_norm(self, x: Value) -> Value:
        """The operator has no form without a weight."""
        ones = self.constant([1.0] * x.shape[-1])
        return self.add("LayerNormalization", x, ones, axis=-1, epsilon=self.config.epsilon)

    def modulated(self, x: Value, shift: Value, scale: Value) -> Value:
        shift, scale = self.beside_patches(shift), self.beside_patches(scale)
        return self.sum(self.product(x, self.sum(scale, self.constant(1.0))), shift)

    def gated(self, x: Value, gate: Value) -> Value:
        return self.product(x, self.beside_patches(gate))

    def beside_patches(self, x: Value) -> Value:
        """(B, D) -> (B, 1, D)."""
        return self.reshaped(x, x.shape[0], 1, x.shape[1])

    def parts(self, x: Value, count: int) -> list[Value]:
        part = (*x.shape[:-1], x.shape[-1] // count)
        return self.several("Split", [x], [part] * count, axis=-1, num_outputs=count)

    # For decoders.

    def rms_norm(self, name: str, x: Value) -> Value:
        weight = self.tensor(f"{name}.weight", x.shape[-1:])
        return self.add("RMSNormalization", x, weight, axis=-1, epsilon=self.config.epsilon)

    def projected(self, name: str, x: Value, outputs: int) -> Value:
        """The weight is (in, out) here."""
        weight = self.tensor(f"{name}.weight", (x.shape[-1], outputs), (1, 0))
        return self.add("MatMul", x, weight, shape=(*x.shape[:-1], outputs))

    def silu(self, x: Value) -> Value:
        return self.product(x, self.add("Sigmoid", x))

    def product(self, x: Value, y: Value) -> Value:
        return self.add("Mul", x, y)

    def rotated(self, x: Value, *turns: Value) -> Value:
        """Without `turns`, leaves `x` unchanged: attention rotates it."""
        if not turns:
            return x
        half = x.shape[-1] // 2
        cosines, sines = (
            self.add("Unsqueeze", table, self.constant([1]), shape=(table.shape[0], 1, half))
            for table in turns
        )
        one, other = (
            self.sliced(x, first, last, axis=3) for first, last in ((0, half), (half, END))
        )
        turned = [
            self.add(kind, self.product(x, cosines), self.product(y, sines))
            for kind, x, y in (("Sub", one, other), ("Add", other, one))
        ]
        return self.add("Concat", *turned, shape=x.shape, axis=-1)

    def grouped_attention(
        self, query: Value, key: Value, value: Value, position: Value | None = None
    ) -> Value:
        return self.attention_behind(query, key, value, ())[0]

    def attention_behind(
        self, query: Value, key: Value, value: Value, past: Sequence[Value]
    ) -> list[Value]:
        """Attention on (B, L, Q, W), (B, L, H, W), (B, L, H, W), the latter two appended to the
        `past` (B, H, T, W), if any. Returns (B, L, Q W), and keys and values (B, H, T + L, W).
        """
        heads, width = query.shape[2:]
        # ONNX Runtime takes the root of the width in float32, whatever the types are.
        query = self.product(query, self.constant(1 / math.sqrt(width)))
        together = [self.heads_together(x) for x in (query, key, value)]
        return self.several(
            "Attention", [*together, *((None, *past) if past else ())],
            [together[0].shape, *(one.shape for one in past)],
            is_causal=1, scale=1.0, q_num_heads=heads, kv_num_heads=key.shape[2],
        )  # fmt: skip

    def attention_in_place(
        self, query: Value, key: Value, value: Value, cache: Sequence[Value]
    ) -> list[Value]:
        """Like `attention_behind`, with an operator that rotates queries and keys itself. The
        `cache` has keys and values with room for all positions, then the operator's other inputs.
        """
        together = [self.heads_together(x) for x in (query, key, value)]
        return self.several(
            "GroupQueryAttention", [*together, *cache],
            [together[0].shape, *(one.shape for one in cache[:2])],
            domain=CONTRIBUTED, num_heads=query.shape[2], kv_num_heads=key.shape[2], do_rotary=1,
        )  # fmt: skip

    def heads_together(self, x: Value) -> Value:
        """(B, L, heads, W) -> (B, L, heads W)."""
        return self.reshaped(x, *x.shape[:2], x.shape[2] * x.shape[3])

    def several(
        self,
        kind: str,
        inputs: Sequence[Value | None],
        shapes: Sequence[Sequence[int]],
        **settings: Any,
    ) -> list[Value]:
        """Add a node with several outputs of these shapes; returns them."""
        number = len(self.nodes)
        found = [Value(f"{kind}_{number}_{at}", tuple(one)) for at, one in enumerate(shapes)]
        names = ["" if value is None else value.name for value in inputs]
        given = [value.name for value in found]
        self.nodes.append(helper.make_node(kind, names, given, **settings))
        return found

    def sliced(self, x: Value, first: int, last: int, *, axis: int) -> Value:
        shape = list(x.shape)
        shape[axis] = len(range(shape[axis])[first:last])
        bounds = (self.constant([at]) for at in (first, last, axis))
        return self.add("Slice", x, *bounds, shape=shape)

    def last_positions(self, x: Value, count: int) -> Value:
        bounds = (self.constant([at]) for at in (-count, END, 1))
        return self.add("Slice", x, *bounds, shape=(x.shape[0], count, *x.shape[2:]))

    def scores(self, x: Value, table: Value) -> Value:
        turned = self.transposed(table, 1, 0)  # a constant, so done once
        return self.add("MatMul", x, turned, shape=(*x.shape[:-1], table.shape[0]))
