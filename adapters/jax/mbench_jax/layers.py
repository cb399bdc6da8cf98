"""Layers as functions that ask a pass through the model for their tensors, by canonical name.

Shapes: B batch, H W pixels, C channels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import jax
import jax.numpy as jnp
from jax import lax

from mbench.sdk.networks import net as networks
from mbench.sdk.regions import shares
from mbench.sdk.tensors import Native
from mbench_jax.precision import wide

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np

Array: TypeAlias = jax.Array
Tensors = dict[str, Array]

__all__ = ["SCANNED", "UNFUSED_ATTENTION", "Array", "Net", "Tensors", "cross_entropy",
           "split"]  # fmt: skip

SCANNED = "each layer is a lax.scan over its steps; the inputs' products come before it"
UNFUSED_ATTENTION = "attention is two matrix products around a softmax, not one fused kernel"

PIXELS = ("NHWC", "HWIO", "NHWC")


@dataclass(frozen=True)
class Net(networks.Net[Array]):
    """A model; a copy of it holds what one pass through it reads and leaves."""

    channels = -1

    config: Any
    params: Tensors = field(default_factory=dict)
    stats: Tensors = field(default_factory=dict)
    """Running statistics. Training leaves new ones."""
    training: bool = False
    keys: Iterator[Array] | None = None
    """Keys for dropout masks."""
    products: str = "float32"
    checkpointed: bool = False
    """Whether the backward pass recomputes layers."""
    counted: bool = False
    """Whether FLOPs are being counted, with zeros around images as ordinary pixels."""
    outlines: dict[str, Native] | None = None
    """Filled by the pass that outlines a model: shapes, which need no memory."""

    def tensor(
        self, name: str, shape: Sequence[int], axes: Sequence[int] = (), *, trainable: bool = True
    ) -> Array:
        if self.outlines is not None:
            outline = jax.ShapeDtypeStruct(tuple(shape), jnp.float32)
            self.outlines[name] = Native(outline, trainable, axes)
            return jnp.zeros(shape)
        return (self.params if trainable else self.stats)[name]

    def layer(self, function: Callable[..., Array], at: str, x: Array) -> Array:
        """Uses jax.checkpoint if `checkpointed`; recomputing draws the same random numbers."""
        if not self.checkpointed:
            return function(self, at, x)

        def alone(params: Tensors, key: Array, x: Array) -> Array:
            return function(replace(self, params=params, keys=split(key)), at, x)

        assert self.keys is not None
        own = {name: one for name, one in self.params.items() if name.startswith(f"{at}.")}
        found: Array = jax.checkpoint(alone)(own, next(self.keys), x)
        return found

    def cast(self, *arrays: Array) -> list[Array]:
        """The arrays in the type of products."""
        return [array.astype(self.products) for array in arrays]

    def convolved(
        self,
        name: str,
        x: Array,
        outputs: int,
        sides: tuple[int, int],
        margins: tuple[int, int],
        stride: int,
        groups: int,
        bias: bool,
    ) -> Array:
        padding = [(margin, margin) for margin in margins]
        shape = (*sides, x.shape[-1] // groups, outputs)
        x, weight = self.cast(x, self.tensor(f"{name}.weight", shape, (2, 3, 1, 0)))
        if self.counted:
            x, padding = jnp.pad(x, ((0, 0), *padding, (0, 0))), [(0, 0), (0, 0)]
        steps = (stride, stride)
        x = lax.conv_general_dilated(
            x, weight, steps, padding, dimension_numbers=PIXELS, feature_group_count=groups
        )
        return x + self.tensor(f"{name}.bias", (outputs,)).astype(x.dtype) if bias else x

    def norm(self, name: str, x: Array) -> Array:
        """In float32 at least."""
        shape, own = x.shape[-1:], wide(x)
        weight, bias = (wide(self.tensor(f"{name}.{leaf}", shape)) for leaf in ("weight", "bias"))
        names = f"{name}.running_mean", f"{name}.running_var"
        kept = [self.tensor(name, shape, trainable=False) for name in names]
        mean, variance = wide(kept)
        if self.training:
            axes, count = tuple(range(x.ndim - 1)), x.size // x.shape[-1]
            mean, variance = own.mean(axes), own.var(axes)
            new, share = (mean, variance * (count / max(count - 1, 1))), self.config.momentum
            for name, old, found in zip(names, kept, new, strict=True):
                self.stats[name] = ((1 - share) * wide(old) + share * found).astype(old.dtype)
        scale = weight * lax.rsqrt(variance + self.config.epsilon)
        return (own * scale + (bias - mean * scale)).astype(x.dtype)

    def layer_norm(self, name: str, x: Array) -> Array:
        """In float32 at least."""
        shape, own = x.shape[-1:], wide(x)
        weight, bias = (wide(self.tensor(f"{name}.{leaf}", shape)) for leaf in ("weight", "bias"))
        scale = lax.rsqrt(own.var(-1, keepdims=True) + self.config.epsilon)
        return ((own - own.mean(-1, keepdims=True)) * scale * weight + bias).astype(x.dtype)

    def linear(self, name: str, x: Array, outputs: int, *, axes: Sequence[int] = (1, 0)) -> Array:
        """The weight is (in, out) here."""
        weight = self.tensor(f"{name}.weight", (x.shape[-1], outputs), axes)
        x, weight, bias = self.cast(x, weight, self.tensor(f"{name}.bias", (outputs,)))
        return x @ weight + bias

    def embedding(self, name: str, rows: int, width: int) -> Array:
        (table,) = self.cast(self.tensor(f"{name}.weight", (rows, width)))
        return table

    def dropout(self, x: Array, rate: float) -> Array:
        if not (self.training and rate):
            return x
        keys = self.keys
        assert keys is not None, "dropout is to be seeded"
        kept = jax.random.bernoulli(next(keys), 1 - rate, x.shape)
        return jnp.where(kept, x / (1 - rate), 0)

    def attention(
        self, query: Array, key: Array, value: Array, rate: float, *, causal: bool = False
    ) -> Array:
        """Hand-written: JAX's own has no dropout, and rounds its softmax to float32."""
        scores = jnp.einsum("blhd,bmhd->bhlm", query / math.sqrt(query.shape[-1]), key)
        if causal:
            scores = jnp.where(jnp.tri(*scores.shape[-2:], dtype=bool), scores, -jnp.inf)
        chances = self.dropout(jax.nn.softmax(wide(scores)).astype(query.dtype), rate)
        return jnp.einsum("bhlm,bmhd->blhd", chances, value)

    def relu(self, x: Array) -> Array:
        return jax.nn.relu(x)

    def relu6(self, x: Array) -> Array:
        return jax.nn.relu6(x)

    def tanh(self, x: Array) -> Array:
        return jnp.tanh(x)

    def gelu(self, x: Array) -> Array:
        return jax.nn.gelu(x, approximate=False)

    def tanh_gelu(self, x: Array) -> Array:
        return jax.nn.gelu(x, approximate=True)

    def sum(self, x: Array, y: Array) -> Array:
        return x + y

    def joined(self, *parts: Array) -> Array:
        return jnp.concatenate(parts, axis=-1)

    def halves(self, x: Array) -> Sequence[Array]:
        return jnp.split(x, 2, axis=-1)

    def interleaved(self, x: Array, y: Array) -> Array:
        return jnp.stack((x, y), axis=-1).reshape(*x.shape[:3], -1)

    def max_pool(
        self, x: Array, size: int, *, stride: int = 2, padding: int = 0, ceil: bool = False
    ) -> Array:
        """At stride 2, the last window extends past the edge by one pixel or not at all."""
        juts = ceil and (x.shape[1] + 2 * padding - size) % stride > 0
        return window(x, -jnp.inf, lax.max, size, stride, (padding, padding + juts))

    def mean_pool(self, x: Array, size: int, *, stride: int = 2, padding: int = 0) -> Array:
        return window(x, 0.0, lax.add, size, stride, (padding, padding)) / size**2

    def regions(self, x: Array, count: int) -> Array:
        if x.shape[1] == count:
            return x
        parts = jnp.asarray(shares(x.shape[1], count), x.dtype)  # (count, H)
        return jnp.einsum("bhwc,ih,jw->bijc", x, parts, parts)

    def pixels(self, x: Array) -> Array:
        return x.mean((1, 2))

    def flat(self, x: Array) -> Array:
        return x.transpose(0, 3, 1, 2).reshape(len(x), -1)

    def reshaped(self, x: Array, *shape: int) -> Array:
        return x.reshape(shape)

    def rows(self, table: Array, ids: Array) -> Array:
        return table[ids]

    def first_rows(self, table: Array, count: int) -> Array:
        return table[:count]

    def first_position(self, x: Array) -> Array:
        return x[:, 0]

    def positions(self, x: Array, chosen: Array) -> Array:
        return jnp.take_along_axis(x, chosen[..., None], axis=1)

    def thirds(self, x: Array) -> Sequence[Array]:
        return jnp.split(x, 3, axis=-1)

    def scores(self, x: Array, table: Array) -> Array:
        return x @ table.T

    def biased(self, x: Array, name: str) -> Array:
        (bias,) = self.cast(self.tensor(name, x.shape[-1:]))
        return x + bias

    def constant(self, array: np.ndarray) -> Array:
        return jnp.asarray(array, self.products)

    def rms_norm(self, name: str, x: Array) -> Array:
        """In float32 at least, except for the product with the weight."""
        own = wide(x)
        scale = lax.rsqrt(jnp.square(own).mean(-1, keepdims=True) + self.config.epsilon)
        (weight,) = self.cast(self.tensor(f"{name}.weight", x.shape[-1:]))
        return weight * (own * scale).astype(x.dtype)

    def projected(self, name: str, x: Array, outputs: int) -> Array:
        """The weight is (in, out) here."""
        x, weight = self.cast(x, self.tensor(f"{name}.weight", (x.shape[-1], outputs), (1, 0)))
        return x @ weight

    def silu(self, x: Array) -> Array:
        return jax.nn.silu(x)

    def product(self, x: Array, y: Array) -> Array:
        return x * y

    def rotated(self, x: Array, cosines: Array, sines: Array) -> Array:
        one, other = jnp.split(x, 2, axis=-1)
        cosines, sines = cosines[:, None], sines[:, None]
        return jnp.concatenate(
            (one * cosines - other * sines, other * cosines + one * sines), axis=-1
        )

    def grouped_attention(
        self, query: Array, key: Array, value: Array, position: Array | None = None
    ) -> Array:
        """Hand-written, like `attention`."""
        size, length, heads, width = query.shape
        groups = (size, length, key.shape[2], -1, width)
        query = query.reshape(groups) / math.sqrt(width)
        scores = jnp.einsum("blhgd,bmhd->bhglm", query, key)
        if position is None:
            seen = jnp.tri(length, key.shape[1], dtype=bool)
        else:
            seen = jnp.arange(key.shape[1]) <= position
        scores = jnp.where(seen, scores, -jnp.inf)
        chances = jax.nn.softmax(wide(scores)).astype(query.dtype)
        return jnp.einsum("bhglm,bmhd->blhgd", chances, value).reshape(size, length, heads, width)

    def last_positions(self, x: Array, count: int) -> Array:
        return x[:, -count:]

    def roomy(self, x: Array, room: int) -> Array:
        return jnp.pad(x, ((0, 0), (0, room - x.shape[1]), (0, 0), (0, 0)))

    def row(self, table: Array, position: Array) -> Array:
        return lax.dynamic_slice_in_dim(table, position, 1)

    def put(self, cache: Array, new: Array, position: Array) -> Array:
        return lax.dynamic_update_slice_in_dim(cache, new, position, axis=1)

    def lstm(self, name: str, x: Array, number: int) -> Array:
        """(L, B, in) -> (L, B, H): one numbered layer with the config's `hidden`."""
        hidden, turned = self.config.hidden, (1, 0)
        (x, weight, recurrent, bias, other) = self.cast(
            x,
            self.tensor(f"{name}.weight_ih_l{number}", (x.shape[-1], 4 * hidden), turned),
            self.tensor(f"{name}.weight_hh_l{number}", (hidden, 4 * hidden), turned),
            self.tensor(f"{name}.bias_ih_l{number}", (4 * hidden,)),
            self.tensor(f"{name}.bias_hh_l{number}", (4 * hidden,)),
        )

        return states(recurrent, x @ weight + bias + other)


@jax.jit
def states(recurrent: Array, gates: Array) -> Array:
    """(L, B, H): an LSTM's outputs after each step, from its weights (H, 4 H) and its projected
    inputs (L, B, 4 H). All layers share one function: where operations run one by one, a loop over
    a new function would be compiled in each step.
    """

    def cell(state: tuple[Array, Array], given: Array) -> tuple[tuple[Array, Array], Array]:
        h, c = state
        i, f, g, o = jnp.split(given + h @ recurrent, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    start = jnp.zeros((gates.shape[1], len(recurrent)), gates.dtype)
    return lax.scan(cell, (start, start), gates)[1]


def window(
    x: Array, start: float, over: Any, size: int, stride: int, margin: tuple[int, int]
) -> Array:
    margins = ((0, 0), margin, margin, (0, 0))
    return lax.reduce_window(x, start, over, (1, size, size, 1), (1, stride, stride, 1), margins)


def cross_entropy(logits: Array, labels: Array) -> Array:
    """Mean over all labels, which are class numbers, or shares of classes as floats."""
    chances = jax.nn.log_softmax(logits)
    if jnp.issubdtype(labels.dtype, jnp.floating):
        return -(labels * chances).sum(-1).mean()
    return -jnp.take_along_axis(chances, labels[..., None], axis=-1).mean()


def split(key: Array) -> Iterator[Array]:
    while True:
        key, own = jax.random.split(key)
        yield own
