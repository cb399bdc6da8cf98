"""Layers as functions of TensorFlow's operations: they ask a pass through the model for their
variables, by canonical name.

Shapes: B batch, H W pixels, C channels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from mbench.contract.compat import zipped
from mbench.sdk.networks import net as networks
from mbench.sdk.regions import shares
from mbench_tensorflow1.parameters import Store, Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    Tensors = dict[str, tf.Tensor]

__all__ = ["UNFUSED_ATTENTION", "Net", "cross_entropy"]

UNFUSED_ATTENTION = "attention is two matrix products around a softmax, not one fused kernel"

tf.enable_v2_tensorshape()  # so that a dimension is a number


@dataclass
class Net(networks.Net[tf.Tensor]):
    """A model, and what a pass through it leaves."""

    channels = -1
    heads = True
    """Auxiliary heads have variables in inference too, where they are not outputs and not run."""

    config: Any
    dtype: str = "float32"
    training: bool = False
    store: Store | None = None
    natives: dict[str, Tensor] = field(default_factory=dict)
    """All variables by canonical name, created when a pass first asks for them."""
    updates: list[tf.Operation] = field(default_factory=list)
    """Updates of running statistics, in training."""
    fuses: bool = False
    """Whether a batch norm is being trained with the fused kernel."""

    def tensor(
        self, name: str, shape: Sequence[int], axes: Sequence[int] = (), *, trainable: bool = True
    ) -> tf.Variable:
        if name not in self.natives:
            zeros = tf.zeros_initializer()  # values are loaded
            variable = tf.get_variable(
                name, tuple(shape), self.dtype, zeros, trainable=trainable, use_resource=True
            )
            self.natives[name] = Tensor(variable, trainable, tuple(axes), self.store)
        return self.natives[name].tensor

    def convolved(
        self,
        name: str,
        x: tf.Tensor,
        outputs: int,
        sides: tuple[int, int],
        margins: tuple[int, int],
        stride: int,
        groups: int,
        bias: bool,
    ) -> tf.Tensor:
        """Padding by half a kernel is TensorFlow's "SAME" at stride 1; at stride 2, "SAME" would
        pad one side more than the other.
        """
        same = stride == 1 and margins == (sides[0] // 2, sides[1] // 2)
        shape = (*sides, x.shape[-1] // groups, outputs)
        weight = self.tensor(f"{name}.weight", shape, (2, 3, 1, 0))
        if any(margins) and not same:
            x = tf.pad(x, [(0, 0), *((margin, margin) for margin in margins), (0, 0)])
        x = convolved(x, weight, stride, "SAME" if same else "VALID", groups)
        return tf.nn.bias_add(x, self.tensor(f"{name}.bias", (outputs,))) if bias else x

    def norm(self, name: str, x: tf.Tensor) -> tf.Tensor:
        shape, config = x.shape[-1:], self.config
        weight, bias = (self.tensor(f"{name}.{leaf}", shape) for leaf in ("weight", "bias"))
        mean, variance = (
            self.tensor(f"{name}.running_{leaf}", shape, trainable=False)
            for leaf in ("mean", "var")
        )
        if x.dtype == tf.float64:
            return self._composed(x, weight, bias, mean, variance)
        given: Any = (tf.zeros([0]), tf.zeros([0])) if self.training else (mean, variance)
        # tf.nn.fused_batch_norm is the same, but raises an epsilon of 1e-5 to 1.001e-5.
        y, found_mean, found_variance, *_ = tf.raw_ops.FusedBatchNormV3(
            x=x,
            scale=weight,
            offset=bias,
            mean=given[0],
            variance=given[1],
            epsilon=config.epsilon,
            is_training=self.training,
        )
        if self.training:
            self.fuses = True
            self._average(mean, found_mean)
            self._average(variance, found_variance)  # unbiased, as Benchmark.check ensures
        return y

    def _composed(
        self,
        x: tf.Tensor,
        weight: tf.Variable,
        bias: tf.Variable,
        mean: tf.Variable,
        variance: tf.Variable,
    ) -> tf.Tensor:
        """The fused kernel has no float64."""
        epsilon = self.config.epsilon
        if not self.training:
            return tf.nn.batch_normalization(x, mean, variance, bias, weight, epsilon)
        found_mean, found_variance = tf.nn.moments(x, list(range(len(x.shape) - 1)))
        count = x.shape.num_elements() // x.shape[-1]
        self._average(mean, found_mean)
        self._average(variance, found_variance * (count / max(count - 1, 1)))
        return tf.nn.batch_normalization(x, found_mean, found_variance, bias, weight, epsilon)

    def _average(self, running: tf.Variable, found: tf.Tensor) -> None:
        self.updates.append(running.assign_sub((running - found) * self.config.momentum))

    def layer_norm(self, name: str, x: tf.Tensor) -> tf.Tensor:
        """Composed as in tf.contrib.layers.layer_norm."""
        shape = x.shape[-1:]
        weight, bias = (self.tensor(f"{name}.{leaf}", shape) for leaf in ("weight", "bias"))
        mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
        return tf.nn.batch_normalization(x, mean, variance, bias, weight, self.config.epsilon)

    def linear(
        self, name: str, x: tf.Tensor, outputs: int, *, axes: Sequence[int] = (1, 0)
    ) -> tf.Tensor:
        """The weight is (in, out) here."""
        weight = self.tensor(f"{name}.weight", (x.shape[-1], outputs), axes)
        bias = self.tensor(f"{name}.bias", (outputs,))
        rows = tf.reshape(x, (-1, x.shape[-1]))
        return tf.reshape(tf.nn.bias_add(tf.matmul(rows, weight), bias), (*x.shape[:-1], outputs))

    def embedding(self, name: str, rows: int, width: int) -> tf.Variable:
        return self.tensor(f"{name}.weight", (rows, width))

    def dropout(self, x: tf.Tensor, rate: float) -> tf.Tensor:
        return tf.nn.dropout(x, rate=rate) if self.training and rate else x

    def attention(
        self,
        query: tf.Tensor,
        key: tf.Tensor,
        value: tf.Tensor,
        rate: float,
        *,
        causal: bool = False,
    ) -> tf.Tensor:
        query, key, value = (tf.transpose(part, (0, 2, 1, 3)) for part in (query, key, value))
        query = query * (1 / math.sqrt(query.shape[-1]))
        scores = tf.matmul(query, key, transpose_b=True)  # (B, heads, L, L)
        if causal:
            past = tf.linalg.band_part(tf.ones(scores.shape[-2:], scores.dtype), -1, 0)
            scores = scores + (1 - past) * scores.dtype.min / 2
        chances = self.dropout(tf.nn.softmax(scores), rate)
        return tf.transpose(tf.matmul(chances, value), (0, 2, 1, 3))

    def relu(self, x: tf.Tensor) -> tf.Tensor:
        return tf.nn.relu(x)

    def relu6(self, x: tf.Tensor) -> tf.Tensor:
        return tf.nn.relu6(x)

    def tanh(self, x: tf.Tensor) -> tf.Tensor:
        return tf.tanh(x)

    def gelu(self, x: tf.Tensor) -> tf.Tensor:
        """Hand-written: TensorFlow 1 has none."""
        return 0.5 * x * (1.0 + tf.erf(x / math.sqrt(2)))

    def tanh_gelu(self, x: tf.Tensor) -> tf.Tensor:
        """As in GPT-2's code."""
        return 0.5 * x * (1 + tf.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * tf.pow(x, 3))))

    def sum(self, x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        return x + y

    def joined(self, *parts: tf.Tensor) -> tf.Tensor:
        return tf.concat(parts, axis=-1)

    def halves(self, x: tf.Tensor) -> Sequence[tf.Tensor]:
        return tf.split(x, 2, axis=-1)

    def interleaved(self, x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        return tf.reshape(tf.stack((x, y), axis=-1), (*x.shape[:3], 2 * x.shape[-1]))

    def max_pool(
        self, x: tf.Tensor, size: int, *, stride: int = 2, padding: int = 0, ceil: bool = False
    ) -> tf.Tensor:
        """Max pooling of square images, padded with 0: after a ReLU, 0 stands for -inf.

        At stride 2, the last window extends past the edge by one pixel or not at all, and one pixel
        is what "SAME" adds, at the end.
        """
        x = padded(x, padding)
        juts = ceil and (x.shape[1] - size) % stride > 0
        return tf.nn.max_pool2d(x, size, stride, "SAME" if juts else "VALID")

    def mean_pool(self, x: tf.Tensor, size: int, *, stride: int = 2, padding: int = 0) -> tf.Tensor:
        return tf.nn.avg_pool2d(padded(x, padding), size, stride, "VALID")

    def regions(self, x: tf.Tensor, count: int) -> tf.Tensor:
        if x.shape[1] == x.shape[2] == count:
            return x
        parts = tf.constant(shares(x.shape[1], count), x.dtype)  # (count, H)
        rows = tf.tensordot(parts, x, [[1], [1]])  # (count, B, W, C)
        both = tf.tensordot(parts, rows, [[1], [2]])  # (count of columns, count of rows, B, C)
        return tf.transpose(both, (2, 1, 0, 3))

    def pixels(self, x: tf.Tensor) -> tf.Tensor:
        return tf.reduce_mean(x, [1, 2])

    def flat(self, x: tf.Tensor) -> tf.Tensor:
        return tf.reshape(tf.transpose(x, (0, 3, 1, 2)), (x.shape[0], -1))

    def reshaped(self, x: tf.Tensor, *shape: int) -> tf.Tensor:
        return tf.reshape(x, shape)

    def rows(self, table: tf.Variable, ids: tf.Tensor) -> tf.Tensor:
        return tf.gather(table, ids)

    def first_rows(self, table: tf.Variable, count: int) -> tf.Tensor:
        return table[:count]

    def first_position(self, x: tf.Tensor) -> tf.Tensor:
        return x[:, 0]

    def positions(self, x: tf.Tensor, chosen: tf.Tensor) -> tf.Tensor:
        """Gathered as rows of one table, as in BERT's code."""
        batch, length, hidden = x.shape
        first = tf.range(0, batch * length, length, chosen.dtype)[:, None]
        found = tf.gather(tf.reshape(x, (-1, hidden)), tf.reshape(chosen + first, (-1,)))
        return tf.reshape(found, (*chosen.shape, hidden))

    def thirds(self, x: tf.Tensor) -> Sequence[tf.Tensor]:
        return tf.split(x, 3, axis=-1)

    def scores(self, x: tf.Tensor, table: tf.Variable) -> tf.Tensor:
        rows = tf.reshape(x, (-1, x.shape[-1]))
        found = tf.matmul(rows, table, transpose_b=True)
        return tf.reshape(found, (*x.shape[:-1], table.shape[0]))

    def biased(self, x: tf.Tensor, name: str) -> tf.Tensor:
        return tf.nn.bias_add(x, self.tensor(name, x.shape[-1:]))


def convolved(
    x: tf.Tensor, weight: tf.Variable, stride: int, padding: str, groups: int
) -> tf.Tensor:
    if groups == 1:
        return tf.nn.conv2d(x, weight, stride, padding)
    height, width, _, outputs = weight.shape
    if groups == x.shape[-1] == outputs:
        filters = tf.reshape(weight, (height, width, groups, 1))
        return tf.nn.depthwise_conv2d(x, filters, (1, stride, stride, 1), padding)
    # TensorFlow 1 has no grouped convolutions on CPU.
    pairs = zipped(tf.split(x, groups, axis=-1), tf.split(weight, groups, axis=-1))
    parts = [tf.nn.conv2d(part, own, stride, padding) for part, own in pairs]
    return tf.concat(parts, axis=-1)


def padded(x: tf.Tensor, margin: int) -> tf.Tensor:
    """`x` with `margin` zeros on every side."""
    sides = (margin, margin)
    return tf.pad(x, ((0, 0), sides, sides, (0, 0))) if margin else x


def cross_entropy(logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """Mean over all labels, which are class numbers."""
    found = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    return tf.reduce_mean(found)
