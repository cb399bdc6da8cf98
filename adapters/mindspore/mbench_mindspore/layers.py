"""mindspore.nn's layers, and what replaces them in float64 where their kernels do not support it.

On CPU, convolution and batch norm have no float64, and layer norm, average pooling and ReLU6 have
none that is exact or has a gradient. In float64, these are composed of operations that support it.
The type of the input decides, which a static graph knows when it is compiled.

Shapes: B batch, C channels, H W pixels, G groups, P output pixels, L sequence, D features of a
head.
"""

from __future__ import annotations

from typing import Any, Protocol

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

__all__ = ["DOT", "AveragePool", "BasicConv2d", "BatchNorm2d", "Conv2d", "Dense", "Dropout",
           "Embedding", "LayerNorm", "MaxPool", "Normalized", "Projection", "ReLU6", "attend",
           "exact", "flat", "norm", "pixels"]  # fmt: skip

DOT = "__"
"""Replaces a dot in the name of a cell, which must not contain dots."""


class Normalized(Protocol):
    """A model's batch norm settings; `momentum` is the weight of the new statistic."""

    @property
    def epsilon(self) -> float: ...

    @property
    def momentum(self) -> float: ...


class Conv2d(nn.Conv2d):
    """mindspore.nn's own, padded by half its kernel by default.

    In float64: a product with the unfolded image.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: int | tuple[int, int],
        *,
        stride: int = 1,
        padding: int | tuple[int, int] | None = None,
        groups: int = 1,
        bias: bool = False,
    ) -> None:
        sides = (kernel, kernel) if isinstance(kernel, int) else kernel
        if padding is None:
            padding = (sides[0] // 2, sides[1] // 2)
        elif isinstance(padding, int):
            padding = (padding, padding)
        high, wide = padding
        super().__init__(
            inputs, outputs, sides, stride, pad_mode="pad", padding=(high, high, wide, wide),
            group=groups, has_bias=bias, weight_init="zeros", bias_init="zeros",
        )  # fmt: skip
        self.sides, self.steps, self.margins = sides, (stride, stride), (high, wide)

    def construct(self, x: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, C, H, W)."""
        if x.dtype == ms.float64:
            return self.composed(x)
        return super().construct(x)

    def composed(self, x: Tensor) -> Tensor:
        batch, _, height, width = x.shape
        high = (height + 2 * self.margins[0] - self.sides[0]) // self.steps[0] + 1
        wide = (width + 2 * self.margins[1] - self.sides[1]) // self.steps[1] + 1
        outputs, within = self.weight.shape[0], self.weight.shape[1] * self.sides[0] * self.sides[1]
        patches = ops.unfold(x, self.sides, 1, self.margins, self.steps)  # (B, C * sides, P)
        patches = patches.reshape((batch, self.group, within, high * wide))
        weight = self.weight.reshape((1, self.group, outputs // self.group, within))
        found = ops.matmul(weight, patches).reshape((batch, outputs, high, wide))
        if self.has_bias:
            found = found + self.bias.reshape((1, outputs, 1, 1))
        return found


class BatchNorm2d(nn.BatchNorm2d):
    """mindspore.nn's own; in float64, composed of operations."""

    def __init__(self, channels: int, *, momentum: float, epsilon: float) -> None:
        super().__init__(channels, eps=epsilon, momentum=1 - momentum)
        self.share, self.keep = exact(momentum), exact(1 - momentum)
        self.exact_epsilon = exact(epsilon)

    def construct(self, x: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, C, H, W)."""
        if x.dtype == ms.float64:
            return self.composed(x)
        return super().construct(x)

    def composed(self, x: Tensor) -> Tensor:
        batch, channels, height, width = x.shape
        shape, count = (1, channels, 1, 1), batch * height * width
        if self.training:
            mean = x.mean((0, 2, 3))
            centered = x - mean.reshape(shape)
            variance = (centered * centered).mean((0, 2, 3))
            unbiased = variance * count / max(count - 1, 1)
            ops.assign(self.moving_mean, self.moving_mean * self.keep + mean * self.share)
            old = self.moving_variance * self.keep
            ops.assign(self.moving_variance, old + unbiased * self.share)
        else:
            centered = x - self.moving_mean.reshape(shape)
            variance = self.moving_variance
        scale = self.gamma * ops.rsqrt(variance + self.exact_epsilon)
        return centered * scale.reshape(shape) + self.beta.reshape(shape)


class LayerNorm(nn.LayerNorm):
    """mindspore.nn's own over the last axis; in float64, composed of operations."""

    def __init__(self, features: int, *, epsilon: float) -> None:
        super().__init__((features,), epsilon=epsilon)
        self.exact_epsilon = exact(epsilon)

    def construct(self, x: Tensor) -> Tensor:
        if x.dtype == ms.float64:
            centered = x - x.mean(-1, keep_dims=True)
            variance = (centered * centered).mean(-1, keep_dims=True)
            scale = ops.rsqrt(variance + self.exact_epsilon)
            return centered * scale * self.gamma + self.beta
        return super().construct(x)


class AveragePool(nn.Cell):
    """Averages of windows, in which the padding's zeros count."""

    def __init__(self, kernel: int, *, stride: int = 1, padding: int = 0) -> None:
        super().__init__()
        self.kernel, self.stride, self.padding = kernel, stride, padding
        if padding:
            self.pool = nn.AvgPool2d(kernel, stride, pad_mode="pad", padding=padding)
        else:
            self.pool = nn.AvgPool2d(kernel, stride)

    def construct(self, x: Tensor) -> Tensor:
        if x.dtype == ms.float64:
            batch, channels, height, width = x.shape
            high = (height + 2 * self.padding - self.kernel) // self.stride + 1
            wide = (width + 2 * self.padding - self.kernel) // self.stride + 1
            patches = ops.unfold(x, self.kernel, 1, self.padding, self.stride)
            patches = patches.reshape((batch, channels, self.kernel**2, high, wide))
            return patches.mean(2)
        return self.pool(x)


class MaxPool(nn.MaxPool2d):
    """mindspore.nn's own, in its mode without padding if possible: that kernel is faster."""

    def __init__(
        self, kernel: int, *, stride: int = 2, padding: int = 0, ceil: bool = False
    ) -> None:
        if padding or ceil:
            super().__init__(kernel, stride, pad_mode="pad", padding=padding, ceil_mode=ceil)
        else:
            super().__init__(kernel, stride)


class ReLU6(nn.ReLU6):
    def construct(self, x: Tensor) -> Tensor:
        if x.dtype == ms.float64:
            return ops.clamp(x, 0.0, 6.0)
        return super().construct(x)


class Dense(nn.Dense):
    """mindspore.nn's own; its weight is (out, in)."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, weight_init="zeros", bias_init="zeros")


class Projection(Dense):
    """A Dense for weights whose canonical layout is (in, out), as in GPT-2."""


class Embedding(nn.Embedding):
    def __init__(self, rows: int, width: int) -> None:
        super().__init__(rows, width, embedding_table="zeros")


class Dropout(nn.Dropout):
    def __init__(self, rate: float) -> None:
        super().__init__(p=rate)


class BasicConv2d(nn.Cell):
    """A convolution without a bias, its batch norm and a ReLU, as in all of Inception."""

    def __init__(
        self, config: Normalized, inputs: int, outputs: int, kernel: Any, **options: Any
    ) -> None:
        super().__init__()
        self.conv = Conv2d(inputs, outputs, kernel, **options)
        self.bn = norm(config, outputs)

    def construct(self, x: Tensor) -> Tensor:
        return ops.relu(self.bn(self.conv(x)))


def exact(number: float) -> Tensor:
    """`number` in float64: MindSpore takes a plain number as float32, even with float64 tensors."""
    return Tensor(np.array(number, np.float64))


def norm(config: Normalized, channels: int) -> BatchNorm2d:
    return BatchNorm2d(channels, momentum=config.momentum, epsilon=config.epsilon)


def pixels(x: Tensor) -> Tensor:
    """(B, C, H, W) -> (B, C): the mean over all pixels."""
    return x.mean((2, 3))


def flat(x: Tensor) -> Tensor:
    """(B, C, H, W) -> (B, C * H * W)."""
    return x.reshape((x.shape[0], -1))


def attend(query: Tensor, key: Tensor, value: Tensor, dropout: nn.Cell, mask: Any = None) -> Tensor:
    """Attention on (B, heads, L, D): two products around a softmax."""
    root = ops.sqrt(ops.cast(query.shape[-1], query.dtype))
    scores = ops.matmul(query / root, key.swapaxes(-1, -2))
    if mask is not None:
        scores = scores + mask.astype(scores.dtype)
    return ops.matmul(dropout(ops.softmax(scores, -1)), value)
