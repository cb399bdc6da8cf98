"""Operators as paddle.nn's own layers and functions.

Shapes: named after the sizes of each kind.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import paddle
from paddle import nn
from paddle.nn import functional as F

from mbench_paddle import layers
from mbench_paddle.decoder import RMSNorm, rotated

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mbench.workloads.operators import Kind

__all__ = ["build", "forward"]


class MatMul(nn.Layer):
    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.weight = self.create_parameter([kind.k, kind.n])

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        return paddle.matmul(x, self.weight)


class Weight(nn.Layer):
    """The parameter to update. It computes nothing."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.weight = self.create_parameter([kind.elements])

    def forward(self, gradient: paddle.Tensor) -> paddle.Tensor:
        return paddle.assign(self.weight)


class Attention(nn.Layer):
    """Attention on (b, l, heads * width)."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.shape = [kind.b, kind.l, kind.heads, kind.width]

    def forward(self, *tensors: paddle.Tensor) -> paddle.Tensor:
        query, key, value = [tensor.reshape(self.shape) for tensor in tensors]
        return F.scaled_dot_product_attention(query, key, value).flatten(2)


class Rotary(nn.Layer):
    """Rotations of (b, l, heads * width)."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.heads = kind.heads
        dtype = paddle.get_default_dtype()
        for name, table in zip(("cosines", "sines"), kind.rotations(), strict=True):
            whole = paddle.to_tensor(table.astype(dtype)).unsqueeze(1)  # (l, 1, width/2)
            self.register_buffer(name, whole, persistable=False)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        heads = x.reshape([x.shape[0], x.shape[1], self.heads, -1])
        return rotated(heads, [self.cosines, self.sines]).flatten(2)


class GroupedAttention(nn.Layer):
    """Attention on (b, l, heads * width), with keys and values (b, t, shared * width)."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.width, self.groups = kind.width, kind.heads // kind.shared
        self.causal, self.exact = kind.l > 1, layers.exact()
        self.factor = 1 / math.sqrt(kind.width)

    def forward(self, *tensors: paddle.Tensor) -> paddle.Tensor:
        query, key, value = [
            one.reshape([one.shape[0], one.shape[1], -1, self.width]) for one in tensors
        ]
        if self.groups > 1:  # PaddlePaddle would do so itself, but warns in static graphs
            key, value = [one.repeat_interleave(self.groups, axis=2) for one in (key, value)]
        scale = None
        if self.exact:  # in a static graph, PaddlePaddle's own scale is float32
            query, scale = query * layers.exactly(self.factor, like=query), 1.0
        found = F.scaled_dot_product_attention(
            query, key, value, is_causal=self.causal, scale=scale
        )
        return found.flatten(2)


class EmbeddingBag(nn.Embedding):
    """Sums of rows with the numbers (bags, of_bag)."""

    def forward(self, tokens: paddle.Tensor) -> paddle.Tensor:
        return super().forward(tokens).sum(1)


class LSTM(nn.LSTM):
    def __init__(self, kind: Any) -> None:
        super().__init__(kind.features, kind.hidden)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        states, _ = super().forward(x)
        return states


class Function(nn.Layer):
    def __init__(self, function: Callable[..., paddle.Tensor], **settings: Any) -> None:
        super().__init__()
        self.function = function
        self.settings = settings

    def forward(self, *tensors: paddle.Tensor) -> paddle.Tensor:
        return self.function(*tensors, **self.settings)


def gated(gate: paddle.Tensor, x: paddle.Tensor) -> paddle.Tensor:
    return F.silu(gate) * x


def mean_pool(x: paddle.Tensor) -> paddle.Tensor:
    return x.mean([2, 3])


LAYERS: dict[str, Callable[[Any], nn.Layer]] = {
    "matmul": MatMul,
    "bmm": lambda kind: Function(paddle.bmm),
    "linear": lambda kind: nn.Linear(
        kind.features, kind.units, bias_attr=None if kind.bias else False
    ),
    "conv2d": lambda kind: nn.Conv2D(
        kind.c, kind.filters, kind.kernel, kind.stride, kind.padding,
        groups=kind.groups, bias_attr=False,
    ),
    "attention": Attention,
    "batch_norm": lambda kind: layers.norm(kind, kind.c),
    "layer_norm": lambda kind: layers.layer_norm(kind.features, epsilon=kind.epsilon),
    "softmax": lambda kind: nn.Softmax(),
    "cross_entropy": lambda kind: Function(F.cross_entropy),
    "relu": lambda kind: Function(F.relu),
    "gelu": lambda kind: Function(F.gelu),
    "add": lambda kind: Function(paddle.add),
    "empty": lambda kind: Function(paddle.assign),
    "max_pool": lambda kind: Function(
        F.max_pool2d, kernel_size=kind.kernel, stride=kind.stride, padding=kind.padding
    ),
    "mean_pool": lambda kind: Function(mean_pool),
    "embedding": lambda kind: nn.Embedding(kind.vocabulary, kind.features),
    "embedding_bag": lambda kind: EmbeddingBag(kind.vocabulary, kind.features),
    "rms_norm": RMSNorm,
    "rotary": Rotary,
    "grouped_attention": GroupedAttention,
    "swiglu": lambda kind: Function(gated),
    "lstm": LSTM,
    "sgd": Weight,
    "adamw": Weight,
}  # fmt: skip


class Calls(nn.Layer):
    """The calls of a step, each with its own weights."""

    def __init__(self, kind: Kind) -> None:
        super().__init__()
        self.inputs = [one.name for one in kind.inputs()]
        self.calls = nn.LayerList([LAYERS[kind.kind](kind) for _ in range(kind.calls)])


def build(kind: Kind) -> Calls:
    return Calls(kind)


def forward(model: Calls, batch: Mapping[str, paddle.Tensor]) -> dict[str, paddle.Tensor]:
    """The output of each call: "output.0". Generators would break a static graph."""
    return {
        f"output.{at}": call(*[batch[f"{name}.{at}"] for name in model.inputs])
        for at, call in enumerate(model.calls)
    }
