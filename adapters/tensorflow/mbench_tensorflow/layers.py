"""Layers that Keras 3 has only in a slower or a different form, and what image models share.

Shapes: B batch, H W pixels, C channels.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

import keras
import tensorflow as tf

from mbench.sdk.settings import setting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Layer = Callable[[tf.Tensor], tf.Tensor]

__all__ = [
    "CHANNELS_LAST",
    "FUSED_NORM",
    "UNFUSED_ATTENTION",
    "BatchNormalization",
    "Convolution",
    "KerasBatchNormalization",
    "NormedConvolution",
    "built_when_called",
    "checkpointed",
    "cross_entropy",
    "dense",
    "flatten",
    "gelu",
    "grouped_gradient",
    "max_pool",
    "normalization",
    "regions",
    "through",
]

CHANNELS_LAST = "images are channels last (NHWC), TensorFlow's own layout"
FUSED_NORM = "batch norm is TensorFlow's fused kernel: Keras composes it of elementwise operations"
UNFUSED_ATTENTION = "attention is two matrix products around a softmax, not one fused kernel"


class NormConfig(Protocol):
    """A model's batch norm settings; `momentum` is the weight of the new statistic."""

    @property
    def epsilon(self) -> float: ...

    @property
    def momentum(self) -> float: ...


class BatchNormalization(keras.layers.BatchNormalization):
    """Batch norm over all but the last axis, by TensorFlow's fused kernel.

    Keras 3 composes batch norm of elementwise operations, which is slower in graphs. Like PyTorch,
    the fused kernel averages unbiased variances. It has no float64, for which batch norm is
    composed here.
    """

    def call(self, x: tf.Tensor, training: bool = False) -> tf.Tensor:
        dtype = tf.float64 if x.dtype == tf.float64 else tf.float32
        gamma, beta, mean, variance = (
            tf.cast(variable.value, dtype)
            for variable in (self.gamma, self.beta, self.moving_mean, self.moving_variance)
        )
        normalize = self._composed if dtype == tf.float64 else self._fused
        y, mean, variance = normalize(x, gamma, beta, mean, variance, training)
        if training:
            self.moving_mean.assign(mean)
            self.moving_variance.assign(variance)
        return y

    def _fused(
        self,
        x: tf.Tensor,
        gamma: tf.Tensor,
        beta: tf.Tensor,
        mean: tf.Tensor,
        variance: tf.Tensor,
        training: bool,
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        y, mean, variance, *_ = tf.raw_ops.FusedBatchNormV3(
            x=x,
            scale=gamma,
            offset=beta,
            mean=mean,
            variance=variance,
            epsilon=self.epsilon,
            exponential_avg_factor=1 - self.momentum,
            is_training=training,
        )
        return y, mean, variance

    def _composed(
        self,
        x: tf.Tensor,
        gamma: tf.Tensor,
        beta: tf.Tensor,
        mean: tf.Tensor,
        variance: tf.Tensor,
        training: bool,
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        if not training:
            y = tf.nn.batch_normalization(x, mean, variance, beta, gamma, self.epsilon)
            return y, mean, variance
        batch_mean, batch_variance = tf.nn.moments(x, axes=list(range(x.shape.rank - 1)))
        y = tf.nn.batch_normalization(x, batch_mean, batch_variance, beta, gamma, self.epsilon)
        count = x.shape.num_elements() // x.shape[-1]
        unbiased = batch_variance * (count / (count - 1))
        keep = self.momentum
        return y, keep * mean + (1 - keep) * batch_mean, keep * variance + (1 - keep) * unbiased


class Convolution(keras.layers.Conv2D):
    """Padded by `padding` zeros on every side; by default, by half its kernel.

    Padding by half a kernel is TensorFlow's "same" at stride 1; at stride 2, "same" would pad one
    side more than the other. Explicit paddings would work, but their gradients are slow on CPU.

    Its kernel is (height, width, C / groups, filters), also for a depthwise convolution.
    """

    def __init__(
        self,
        filters: int,
        kernel: int | tuple[int, int],
        *,
        strides: int = 1,
        padding: int | None = None,
        groups: int = 1,
        bias: bool = False,
        name: str,
    ) -> None:
        sides = (kernel, kernel) if isinstance(kernel, int) else kernel
        halves = [side // 2 for side in sides]
        margins = halves if padding is None else [padding, padding]
        same = strides == 1 and margins == halves
        super().__init__(
            filters,
            kernel,
            strides=strides,
            padding="same" if same else "valid",
            groups=groups,
            use_bias=bias,
            kernel_initializer="zeros",  # values are loaded
            name=name,
        )
        self.margins = None
        if any(margins) and not same:
            self.margins = [(0, 0), *((margin, margin) for margin in margins), (0, 0)]

    def compute_output_shape(self, input_shape: Sequence[int]) -> tuple[int, ...]:
        """Keras refuses an input smaller than the kernel, and does not know about margins."""
        margins = self.margins or [(0, 0)] * len(input_shape)
        padded = [
            side if side is None else side + before + after
            for side, (before, after) in zip(input_shape, margins, strict=True)
        ]
        shape: tuple[int, ...] = super().compute_output_shape(tuple(padded))
        return shape

    @property
    def depthwise(self) -> bool:
        """Whether each channel has one filter, for which TensorFlow has special kernels."""
        return self.kernel.shape[2] == 1 and self.groups == self.filters

    def convolution_op(self, x: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
        if self.margins is not None:
            x = tf.pad(x, self.margins)
        kernel = tf.convert_to_tensor(kernel)
        padding = self.padding.upper()
        if self.groups == 1:
            return tf.nn.conv2d(x, kernel, self.strides, padding)
        if self.depthwise:
            filters = tf.reshape(kernel, (*self.kernel_size, self.groups, 1))
            return tf.nn.depthwise_conv2d(x, filters, (1, *self.strides, 1), padding)
        if x.dtype != tf.float64:
            # Keras would have XLA compile this, whose gradients on CPU take hundreds of times as
            # long as those of TensorFlow's own kernels.
            return tf.nn.conv2d(x, kernel, self.strides, padding)
        # On CPU, the gradients of grouped convolutions never have a float64 kernel.
        inputs, kernels = (tf.split(whole, self.groups, axis=-1) for whole in (x, kernel))
        pairs = zip(inputs, kernels, strict=True)
        parts = [tf.nn.conv2d(part, own, self.strides, padding) for part, own in pairs]
        return tf.concat(parts, axis=-1)


def grouped_gradient(dtype: str) -> tf.Tensor:
    """The smallest gradient of a grouped convolution. On CPU, TensorFlow has it only with oneDNN,
    and otherwise raises InvalidArgumentError.
    """
    pair = tf.ones((1, 1, 1, 2), dtype)
    return tf.raw_ops.Conv2DBackpropInput(
        input_sizes=pair.shape, filter=pair, out_backprop=pair, strides=[1] * 4, padding="VALID"
    )


class NormedConvolution(keras.layers.Layer):
    """A convolution "conv", its batch norm "bn" and a ReLU."""

    def __init__(
        self,
        config: NormConfig,
        filters: int,
        kernel: int | tuple[int, int],
        name: str,
        *,
        strides: int = 1,
        padding: int | None = None,
    ) -> None:
        super().__init__(name=name)
        self.conv = Convolution(filters, kernel, strides=strides, padding=padding, name="conv")
        self.bn = normalization(config, "bn")

    def call(self, x: tf.Tensor) -> tf.Tensor:
        return tf.nn.relu(self.bn(self.conv(x)))


def built_when_called(model: keras.Model) -> keras.Model:
    """`model`, whose layers create their variables when they are first called.

    Otherwise, if layers are nested, Keras traces every level's call once more to create them
    beforehand, which takes 4 s for BERT-Base.
    """
    for layer in model._flatten_layers():
        if type(layer).build is keras.layers.Layer.build:  # no variables of its own to create
            layer.built = True
    return model


class KerasBatchNormalization(keras.layers.BatchNormalization):
    """Keras' own, which also records how many values are behind a statistic."""

    count = 1

    def call(self, x: tf.Tensor, training: bool = False) -> tf.Tensor:
        if training:
            self.count = x.shape.num_elements() // x.shape[-1]
        return super().call(x, training=training)


def normalization(config: NormConfig, name: str) -> keras.layers.BatchNormalization:
    """Batch norm, Keras' own if the tier uses Keras' layers."""
    kind = KerasBatchNormalization if setting("layers") == "keras" else BatchNormalization
    return kind(epsilon=config.epsilon, momentum=1 - config.momentum, name=name)


def dense(units: int, name: str) -> keras.layers.Dense:
    return keras.layers.Dense(units, kernel_initializer="zeros", name=name)  # values are loaded


def checkpointed(layer: keras.layers.Layer) -> None:
    """Let the backward pass recompute `layer` from those of its positional arguments that are
    tensors. Dropout in it would draw new random numbers.
    """
    call = layer.call

    def run(*given: Any, **settings: Any) -> Any:
        places = [at for at, one in enumerate(given) if tf.is_tensor(one)]

        def again(*tensors: tf.Tensor) -> Any:
            found = list(given)
            for at, tensor in zip(places, tensors, strict=True):
                found[at] = tensor
            return call(*found, **settings)

        return tf.recompute_grad(again)(*(given[at] for at in places))

    layer.call = run


def through(layers: Iterable[Layer], x: tf.Tensor) -> tf.Tensor:
    """`x` through one layer after another."""
    for layer in layers:
        x = layer(x)
    return x


def max_pool(
    x: tf.Tensor,
    size: int,
    *,
    strides: int = 2,
    padding: int = 0,
    ceil: bool = False,
    outside: float = 0.0,
) -> tf.Tensor:
    """Max pooling of square images, padded with `outside`: after a ReLU, 0 stands for -inf.

    `ceil` lets the last window extend past the edge. At stride 2, it does so by one pixel or not at
    all, and one pixel is what "same" adds, at the end.
    """
    if padding:
        margin = (padding, padding)
        x = tf.pad(x, ((0, 0), margin, margin, (0, 0)), constant_values=outside)
    juts = ceil and (x.shape[1] - size) % strides > 0
    return tf.nn.max_pool2d(x, size, strides, "SAME" if juts else "VALID")


def regions(x: tf.Tensor, count: int) -> tf.Tensor:
    """(B, H, W, C) -> (B, count, count, C): means over `count` regions per side.

    Regions overlap if `count` does not divide the side. See PyTorch's AdaptiveAvgPool2d.
    """
    if x.shape[1] == x.shape[2] == count:
        return x
    return keras.ops.adaptive_average_pool(x, count, data_format="channels_last")


def flatten(x: tf.Tensor) -> tf.Tensor:
    """(B, H, W, C) -> (B, C * H * W): the order in which PyTorch's linear layers take pixels."""
    return tf.reshape(tf.transpose(x, (0, 3, 1, 2)), (x.shape[0], -1))


def gelu(x: tf.Tensor) -> tf.Tensor:
    """The exact GELU. tf.nn.gelu differs only in its root of 2, a float32 even in float64."""
    return 0.5 * x * (1.0 + tf.math.erf(x / math.sqrt(2)))


def cross_entropy(logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """Mean over all labels, which are class numbers, or shares of classes as floats."""
    if labels.dtype.is_floating:
        return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels, logits))
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
