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
from mbench.sdk.regions import shares
from mbench_tensorflow1.parameters import Store, Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    Tensors = dict[str, tf.Tensor]

__all__ = ["Net", "cross_entropy", "flatten", "max_pool", "mean_of_pixels", "mean_pool",
           "regions"]  # fmt: skip

tf.enable_v2_tensorshape()  # in which a dimension is a number


@dataclass
class Net:
    """A model, and what a pass through it leaves."""

    config: Any
    """The workload's. Its `epsilon`, and the `momentum` of new statistics, are the norms'."""
    dtype: str = "float32"
    training: bool = False
    store: Store | None = None
    natives: dict[str, Tensor] = field(default_factory=dict)
    """All variables by canonical name, made when a pass first asks for them."""
    updates: list[tf.Operation] = field(default_factory=list)
    """Of running statistics, in training."""
    fuses: bool = False
    """Whether a batch norm by the fused kernel is in training here."""

    def tensor(
        self, name: str, shape: Sequence[int], axes: Sequence[int] = (), *, trainable: bool = True
    ) -> tf.Variable:
        """Of that shape; `axes` are the canonical ones in the order that it has here."""
        if name not in self.natives:
            zeros = tf.zeros_initializer()  # values are loaded
            variable = tf.get_variable(
                name, tuple(shape), self.dtype, zeros, trainable=trainable, use_resource=True
            )
            self.natives[name] = Tensor(variable, trainable, tuple(axes), self.store)
        return self.natives[name].tensor

    def conv(
        self,
        name: str,
        x: tf.Tensor,
        outputs: int,
        kernel: int | tuple[int, int] = 1,
        *,
        stride: int = 1,
        padding: int | None = None,
        groups: int = 1,
        bias: bool = False,
    ) -> tf.Tensor:
        """Padded by `padding` zeros on every side; where none are named, by half its kernel.

        By half a kernel at stride 1 is TensorFlow's "SAME"; at stride 2 that would pad one side
        more than the other.
        """
        sides = (kernel, kernel) if isinstance(kernel, int) else kernel
        halves = [side // 2 for side in sides]
        margins = halves if padding is None else [padding, padding]
        same = stride == 1 and margins == halves
        shape = (*sides, x.shape[-1] // groups, outputs)
        weight = self.tensor(f"{name}.weight", shape, (2, 3, 1, 0))
        if any(margins) and not same:
            x = tf.pad(x, [(0, 0), *((margin, margin) for margin in margins), (0, 0)])
        x = convolved(x, weight, stride, "SAME" if same else "VALID", groups)
        return tf.nn.bias_add(x, self.tensor(f"{name}.bias", (outputs,))) if bias else x

    def norm(self, name: str, x: tf.Tensor) -> tf.Tensor:
        """Batch norm over all but the last axis."""
        shape, config = x.shape[-1:], self.config
        weight, bias = (self.tensor(f"{name}.{leaf}", shape) for leaf in ("weight", "bias"))
        mean, variance = (
            self.tensor(f"{name}.running_{leaf}", shape, trainable=False)
            for leaf in ("mean", "var")
        )
        if x.dtype == tf.float64:
            return self._composed(x, weight, bias, mean, variance)
        given: Any = (tf.zeros([0]), tf.zeros([0])) if self.training else (mean, variance)
        # tf.nn.fused_batch_norm is the same, and raises an epsilon of 1e-5 to 1.001e-5.
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
            self._average(variance, found_variance)  # the unbiased one, as is checked
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

    def normed(self, conv: str, norm: str, x: tf.Tensor, *shape: Any, **settings: Any) -> tf.Tensor:
        """A convolution and its batch norm, by their names."""
        return self.norm(norm, self.conv(conv, x, *shape, **settings))

    def conv_bn(self, name: str, x: tf.Tensor, *shape: Any, **settings: Any) -> tf.Tensor:
        """A convolution "conv", its batch norm "bn" and a ReLU."""
        return tf.nn.relu(self.normed(f"{name}.conv", f"{name}.bn", x, *shape, **settings))

    def layer_norm(self, name: str, x: tf.Tensor) -> tf.Tensor:
        """Over the last axis, composed as tf.contrib.layers.layer_norm is."""
        shape = x.shape[-1:]
        weight, bias = (self.tensor(f"{name}.{leaf}", shape) for leaf in ("weight", "bias"))
        mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
        return tf.nn.batch_normalization(x, mean, variance, bias, weight, self.config.epsilon)

    def linear(
        self, name: str, x: tf.Tensor, outputs: int, *, axes: Sequence[int] = (1, 0)
    ) -> tf.Tensor:
        """Its weight is (in, out) here, and canonically (out, in) unless `axes` are ()."""
        weight = self.tensor(f"{name}.weight", (x.shape[-1], outputs), axes)
        bias = self.tensor(f"{name}.bias", (outputs,))
        rows = tf.reshape(x, (-1, x.shape[-1]))
        return tf.reshape(tf.nn.bias_add(tf.matmul(rows, weight), bias), (*x.shape[:-1], outputs))

    def embedding(self, name: str, rows: int, width: int) -> tf.Variable:
        """The table (rows, width)."""
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
        """Of (B, L, heads, D)."""
        query, key, value = (tf.transpose(part, (0, 2, 1, 3)) for part in (query, key, value))
        query = query * (1 / math.sqrt(query.shape[-1]))
        scores = tf.matmul(query, key, transpose_b=True)  # (B, heads, L, L)
        if causal:
            past = tf.linalg.band_part(tf.ones(scores.shape[-2:], scores.dtype), -1, 0)
            scores = scores + (1 - past) * scores.dtype.min / 2
        chances = self.dropout(tf.nn.softmax(scores), rate)
        return tf.transpose(tf.matmul(chances, value), (0, 2, 1, 3))


def convolved(
    x: tf.Tensor, weight: tf.Variable, stride: int, padding: str, groups: int
) -> tf.Tensor:
    if groups == 1:
        return tf.nn.conv2d(x, weight, stride, padding)
    height, width, _, outputs = weight.shape
    if groups == x.shape[-1] == outputs:
        filters = tf.reshape(weight, (height, width, groups, 1))
        return tf.nn.depthwise_conv2d(x, filters, (1, stride, stride, 1), padding)
    # TensorFlow 1 has no convolution in groups on CPU.
    pairs = zipped(tf.split(x, groups, axis=-1), tf.split(weight, groups, axis=-1))
    parts = [tf.nn.conv2d(part, own, stride, padding) for part, own in pairs]
    return tf.concat(parts, axis=-1)


def max_pool(
    x: tf.Tensor, size: int, *, stride: int = 2, padding: int = 0, ceil: bool = False
) -> tf.Tensor:
    """Of square images that come out of a ReLU: padding with 0 stands for padding with -inf.

    `ceil` lets the last window jut out. At stride 2 it does so by one pixel or not at all, and one
    pixel is what "SAME" adds, behind the last.
    """
    if padding:
        margin = (padding, padding)
        x = tf.pad(x, ((0, 0), margin, margin, (0, 0)))
    juts = ceil and (x.shape[1] - size) % stride > 0
    return tf.nn.max_pool2d(x, size, stride, "SAME" if juts else "VALID")


def mean_pool(x: tf.Tensor, size: int, *, stride: int, padding: int = 0) -> tf.Tensor:
    """Zeros around the image count."""
    if padding:
        margin = (padding, padding)
        x = tf.pad(x, ((0, 0), margin, margin, (0, 0)))
    return tf.nn.avg_pool2d(x, size, stride, "VALID")


def regions(x: tf.Tensor, count: int) -> tf.Tensor:
    """(B, H, W, C) -> (B, count, count, C): means over as many regions per side."""
    if x.shape[1] == x.shape[2] == count:
        return x
    parts = tf.constant(shares(x.shape[1], count), x.dtype)  # (count, H)
    rows = tf.tensordot(parts, x, [[1], [1]])  # (count, B, W, C)
    both = tf.tensordot(parts, rows, [[1], [2]])  # (count of columns, count of rows, B, C)
    return tf.transpose(both, (2, 1, 0, 3))


def mean_of_pixels(x: tf.Tensor) -> tf.Tensor:
    """(B, H, W, C) -> (B, C)."""
    return tf.reduce_mean(x, [1, 2])


def flatten(x: tf.Tensor) -> tf.Tensor:
    """(B, H, W, C) -> (B, C * H * W): the order in which PyTorch's linear layers take pixels."""
    return tf.reshape(tf.transpose(x, (0, 3, 1, 2)), (x.shape[0], -1))


def cross_entropy(logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """Its mean over all labels."""
    found = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    return tf.reduce_mean(found)
