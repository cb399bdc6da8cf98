"""Operators as JAX's functions, and as the layers that the models are made of.

Shapes: named after the sizes of each kind, but images are (n, h, w, c).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax.numpy as jnp
from jax.nn import gelu, relu, silu, softmax

from mbench_jax import images, layers
from mbench_jax.layers import Array, Net, Tensors
from mbench_jax.precision import wide

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["build", "forward"]

DIFFERENCES_OF = {
    "conv2d": images.DIFFERENCES,
    "attention": (layers.UNFUSED_ATTENTION,),
    "grouped_attention": (layers.UNFUSED_ATTENTION,),
    "batch_norm": images.DIFFERENCES,
    "max_pool": images.DIFFERENCES,
    "mean_pool": images.DIFFERENCES,
    "lstm": (layers.SCANNED,),
}


class Calls(Net):
    """The calls of a step, each with its own weights; the config is their kind."""

    @property
    def differences(self) -> Sequence[str]:
        return DIFFERENCES_OF.get(self.config.kind, ())


def matmul(net: Net, name: str, x: Array) -> Array:
    x, weight = net.cast(x, net.tensor(f"{name}.weight", (x.shape[-1], net.config.n)))
    return x @ weight


def weight(net: Net, name: str, gradient: Array) -> Array:
    """The parameter to update. It computes nothing."""
    return net.tensor(f"{name}.weight", gradient.shape)


def bmm(net: Net, name: str, x: Array, y: Array) -> Array:
    x, y = net.cast(x, y)
    return x @ y


def linear(net: Net, name: str, x: Array) -> Array:
    layer = net.linear if net.config.bias else net.projected
    return layer(name, x, net.config.units)


def conv2d(net: Net, name: str, x: Array) -> Array:
    kind = net.config
    shape = {"stride": kind.stride, "padding": kind.padding, "groups": kind.groups}
    return net.conv(name, x, kind.filters, kind.kernel, **shape)


def attention(net: Net, name: str, *tensors: Array) -> Array:
    """Attention on (b, l, heads * width)."""
    kind = net.config
    shape = (kind.b, kind.l, kind.heads, kind.width)
    query, key, value = (tensor.reshape(shape) for tensor in net.cast(*tensors))
    found = net.attention(query, key, value, 0.0)
    return found.reshape(tensors[0].shape)


def cross_entropy(net: Net, name: str, logits: Array, labels: Array) -> Array:
    """In float32 at least, as the losses of models."""
    return layers.cross_entropy(wide(logits), labels).astype(logits.dtype)


def max_pool(net: Net, name: str, x: Array) -> Array:
    kind = net.config
    return net.max_pool(x, kind.kernel, stride=kind.stride, padding=kind.padding)


def embedding(net: Net, name: str, tokens: Array) -> Array:
    return net.embedding(name, net.config.vocabulary, net.config.features)[tokens]


def embedding_bag(net: Net, name: str, tokens: Array) -> Array:
    return embedding(net, name, tokens).sum(1)


def rotary(net: Net, name: str, x: Array) -> Array:
    """Rotations of (b, l, heads * width)."""
    heads = heads_of(net, x)
    tables = [jnp.asarray(table, heads.dtype) for table in net.config.rotations()]
    return net.rotated(heads, *tables).reshape(x.shape)


def grouped_attention(net: Net, name: str, *tensors: Array) -> Array:
    """Attention on (b, l, heads * width), with keys and values (b, t, shared * width)."""
    last = jnp.asarray(net.config.t - 1) if net.config.l == 1 else None
    query, key, value = (heads_of(net, one) for one in tensors)
    found = net.grouped_attention(query, key, value, last)
    return found.reshape(tensors[0].shape)


def heads_of(net: Net, x: Array) -> Array:
    (x,) = net.cast(x)
    return x.reshape(*x.shape[:2], -1, net.config.width)


def lstm(net: Net, name: str, x: Array) -> Array:
    """(b, l, features) -> (b, l, hidden)."""
    return net.lstm(name, x.swapaxes(0, 1), 0).swapaxes(0, 1)


FUNCTIONS: dict[str, Callable[..., Array]] = {
    "matmul": matmul,
    "bmm": bmm,
    "linear": linear,
    "conv2d": conv2d,
    "attention": attention,
    "batch_norm": Net.norm,
    "layer_norm": Net.layer_norm,
    "softmax": lambda net, name, x: softmax(x),
    "cross_entropy": cross_entropy,
    "relu": lambda net, name, x: relu(x),
    "gelu": lambda net, name, x: gelu(x, approximate=False),
    "add": lambda net, name, x, y: jnp.add(x, y),
    "empty": lambda net, name, x: x,
    "max_pool": max_pool,
    "mean_pool": lambda net, name, x: x.mean((1, 2)),
    "embedding": embedding,
    "embedding_bag": embedding_bag,
    "rms_norm": Net.rms_norm,
    "rotary": rotary,
    "grouped_attention": grouped_attention,
    "swiglu": lambda net, name, gate, x: silu(gate) * x,
    "lstm": lstm,
    "sgd": weight,
    "adamw": weight,
}
"""Each takes a pass through the model, the name of a call and its inputs."""

build = Calls


def forward(net: Net, batch: Tensors) -> Tensors:
    """The output of each call: "output.0"."""
    kind, function = net.config, FUNCTIONS[net.config.kind]
    inputs = [one.name for one in kind.inputs()]
    return {
        f"output.{at}": function(net, f"calls.{at}", *(batch[f"{name}.{at}"] for name in inputs))
        for at in range(kind.calls)
    }
