"""Operators as Gluon's own blocks and MXNet's functions.

Shapes: named after the sizes of each kind.
"""

# ruff: noqa: N803 (Gluon hands its operators over as F)

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from mxnet import gluon, nd
from mxnet.gluon import nn, rnn

from mbench_mxnet import layers
from mbench_mxnet.decoder import RMSNorm, attention, rotated

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mbench.workloads.operators import Kind

__all__ = ["build", "forward"]


class Attention(gluon.HybridBlock):
    """Attention on (b, l, heads * width)."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self._heads = kind.heads
        self._scale = 1 / math.sqrt(kind.width)

    def hybrid_forward(self, F: Any, *tensors: Any) -> Any:
        query, key, value = (self.split(tensor) for tensor in tensors)
        scores = F.batch_dot(query * self._scale, key, transpose_b=True)  # (b * heads, l, l)
        found = F.batch_dot(F.softmax(scores), value).reshape((-4, -1, self._heads, -2))
        return found.transpose((0, 2, 1, 3)).reshape((0, 0, -3))

    def split(self, x: Any) -> Any:
        """(b, l, heads * width) -> (b * heads, l, width)."""
        x = x.reshape((0, 0, -4, self._heads, -1))
        return x.transpose((0, 2, 1, 3)).reshape((-3, -2))


class Rotary(gluon.HybridBlock):
    """Rotations of (b, l, heads * width)."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self._heads = kind.heads
        for name, table in zip(("cosines", "sines"), kind.rotations(), strict=True):
            whole = nd.array(table[None, :, None], dtype="float64")  # (1, l, 1, width/2)
            setattr(self, name, self.params.get_constant(name, whole))

    def hybrid_forward(self, F: Any, x: Any, cosines: Any, sines: Any) -> Any:
        heads = x.reshape((0, 0, -4, self._heads, -1))
        return rotated(F, heads, cosines, sines).reshape((0, 0, -3))


class GroupedAttention(gluon.HybridBlock):
    """Attention on (b, l, heads * width), with keys and values (b, t, shared * width): the heads of
    a group are rows of one product.
    """

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self._kind, self._groups = kind, kind.heads // kind.shared
        self._scale = 1 / math.sqrt(kind.width)

    def hybrid_forward(self, F: Any, query: Any, key: Any, value: Any) -> Any:
        kind, groups = self._kind, self._groups
        query = self.split(query * self._scale, kind.heads)
        query = query.reshape((kind.b * kind.shared, groups * kind.l, kind.width))
        key, value = (self.split(one, kind.shared) for one in (key, value))
        if kind.l > 1:
            found = attention(F, query, key, value, groups)
        else:
            found = F.batch_dot(F.softmax(F.batch_dot(query, key, transpose_b=True)), value)
        found = found.reshape((kind.b, kind.heads, kind.l, kind.width))
        return found.transpose((0, 2, 1, 3)).reshape((0, 0, -3))

    def split(self, x: Any, heads: int) -> Any:
        """(b, l, heads * width) -> (b * heads, l, width)."""
        return x.reshape((0, 0, -4, heads, -1)).transpose((0, 2, 1, 3)).reshape((-3, -2))


class EmbeddingBag(nn.Embedding):
    """Sums of rows with the numbers (bags, of_bag)."""

    def hybrid_forward(self, F: Any, tokens: Any, weight: Any) -> Any:
        return super().hybrid_forward(F, tokens, weight).sum(axis=1)


class Weight(gluon.HybridBlock):
    """The parameter to update. It computes nothing."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.weight = self.params.get("weight", shape=(kind.elements,))

    def hybrid_forward(self, F: Any, gradient: Any, weight: Any) -> Any:
        return F.identity(weight)


class LSTM(rnn.LSTM):
    def __init__(self, kind: Any) -> None:
        super().__init__(kind.hidden, layout="NTC", input_size=kind.features)

    def _collect_params_with_prefix(self, prefix: str = "") -> dict[str, gluon.Parameter]:
        return {
            f"{prefix}.{name}_l0": getattr(self, f"l0_{native}")
            for native, name in layers.LSTM_NAMES.items()
        }


UNFUSED = "attention is two matrix products around a softmax, not one fused kernel"
DIFFERENCES_OF = {
    "matmul": ("a product with a weight is a dense layer, which keeps it transposed",),
    "attention": (UNFUSED,),
    "grouped_attention": (UNFUSED,),
}


def function(compute: Callable[..., Any]) -> nn.HybridLambda:
    return nn.HybridLambda(compute)


LAYERS: dict[str, Callable[[Any], gluon.HybridBlock]] = {
    "matmul": lambda kind: layers.Projection(kind.k, kind.n, bias=False),
    "bmm": lambda kind: function(lambda F, x, y: F.batch_dot(x, y)),
    "linear": lambda kind: nn.Dense(
        kind.units, in_units=kind.features, use_bias=bool(kind.bias)
    ),
    "conv2d": lambda kind: layers.convolution(
        kind.c, kind.filters, kind.kernel,
        strides=kind.stride, padding=kind.padding, groups=kind.groups,
    ),
    "attention": Attention,
    "batch_norm": lambda kind: layers.normalization(kind, kind.c),
    "layer_norm": lambda kind: layers.LayerNorm(epsilon=kind.epsilon, in_channels=kind.features),
    "softmax": lambda kind: function(lambda F, x: F.softmax(x)),
    "cross_entropy": lambda kind: function(lambda F, x, labels: layers.cross_entropy(x, labels)),
    "relu": lambda kind: layers.relu(),
    "gelu": lambda kind: layers.GELU(),
    "add": lambda kind: function(lambda F, x, y: x + y),
    "empty": lambda kind: function(lambda F, x: F.identity(x)),
    "max_pool": lambda kind: nn.MaxPool2D(kind.kernel, kind.stride, kind.padding),
    "mean_pool": lambda kind: layers.sequence(nn.GlobalAvgPool2D(), nn.Flatten()),
    "embedding": lambda kind: nn.Embedding(kind.vocabulary, kind.features),
    "embedding_bag": lambda kind: EmbeddingBag(kind.vocabulary, kind.features),
    "rms_norm": RMSNorm,
    "rotary": Rotary,
    "grouped_attention": GroupedAttention,
    "swiglu": lambda kind: function(lambda F, gate, x: gate * F.sigmoid(gate) * x),
    "lstm": LSTM,
    "sgd": Weight,
    "adamw": Weight,
}  # fmt: skip


class Calls(gluon.HybridBlock):
    """The calls of a step, each with its own weights."""

    def __init__(self, kind: Kind) -> None:
        super().__init__()
        self.differences = DIFFERENCES_OF.get(kind.kind, ())
        self.inputs = [one.name for one in kind.inputs()]
        self.calls = layers.sequence(*(LAYERS[kind.kind](kind) for _ in range(kind.calls)))

    def hybrid_forward(self, F: Any, *tensors: Any) -> list[Any]:
        """The inputs of one call after those of another."""
        each = len(self.inputs)
        return [call(*tensors[at * each : (at + 1) * each]) for at, call in enumerate(self.calls)]


def build(kind: Kind) -> Calls:
    return Calls(kind)


def forward(model: Calls, batch: Mapping[str, Any]) -> dict[str, Any]:
    """The output of each call: "output.0"."""
    calls = range(len(model.calls))
    found = model(*(batch[f"{name}.{at}"] for at in calls for name in model.inputs))
    return {f"output.{at}": output for at, output in enumerate(found)}
