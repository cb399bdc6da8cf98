"""Layers that model files share, and those whose native kernels have constants in float32, made
exact in float64.

Shapes: B batch, C channels, H W pixels, K classes.
"""

# ruff: noqa: N803 (Gluon hands its operators over as F)

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from mxnet import gluon
from mxnet.gluon import nn

if TYPE_CHECKING:

    class Normalized(Protocol):
        """A model's batch norm settings; `momentum` is the weight of the new statistic."""

        @property
        def epsilon(self) -> float: ...

        @property
        def momentum(self) -> float: ...


__all__ = [
    "GELU",
    "LSTM_NAMES",
    "AdaptiveAvgPool2D",
    "BatchNorm",
    "LayerNorm",
    "NormedConvolution",
    "Projection",
    "Shares",
    "blocks_of",
    "convolution",
    "cross_entropy",
    "normalization",
    "relu",
    "sequence",
]

LSTM_NAMES = {
    "i2h_weight": "weight_ih",
    "h2h_weight": "weight_hh",
    "i2h_bias": "bias_ih",
    "h2h_bias": "bias_hh",
}
"""PyTorch's names for the parameters of Gluon's LSTM; gates are in the same order."""
# erf's gradient kernel has the root of pi in float32, even in float64.
ERF_GRADIENT = math.sqrt(math.pi) / float(np.sqrt(np.float32(math.pi)))


class BatchNorm(nn.BatchNorm):
    """Batch norm; the second axis is the channels'.

    The kernel's momentum is a float32. In float64 it is 0 instead: the running statistics are those
    of the last batch, from which `statistics.ExactStatistics` computes the average.
    """

    def __init__(self, *, momentum: float, epsilon: float, in_channels: int) -> None:
        super().__init__(momentum=momentum, epsilon=epsilon, in_channels=in_channels)
        self.momentum = momentum

    def cast(self, dtype: Any) -> None:
        super().cast(dtype)
        self._kwargs["momentum"] = 0.0 if np.dtype(dtype) == np.float64 else self.momentum


class LayerNorm(nn.LayerNorm):
    """Layer norm over the last axis.

    The kernel's epsilon is a float32. In float64 the input is scaled to suit it: for any c, the
    norm of x with epsilon e is that of c * x with epsilon c * c * e.
    """

    def __init__(self, *, epsilon: float, in_channels: int) -> None:
        super().__init__(epsilon=epsilon, in_channels=in_channels)
        self._scaled: float | None = None

    def cast(self, dtype: Any) -> None:
        super().cast(dtype)
        exact = np.dtype(dtype) == np.float64
        rounded = float(np.float32(self._epsilon))
        self._scaled = math.sqrt(rounded / self._epsilon) if exact else None

    def hybrid_forward(self, F: Any, x: Any, **parameters: Any) -> Any:
        if self._scaled is not None:
            x = x * self._scaled
        return super().hybrid_forward(F, x, **parameters)


class GELU(nn.GELU):
    """The exact GELU, by MXNet's fused kernel; composed in float64."""

    def __init__(self) -> None:
        super().__init__()
        self._exact = False

    def cast(self, dtype: Any) -> None:
        super().cast(dtype)
        self._exact = np.dtype(dtype) == np.float64

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        if not self._exact:
            return super().hybrid_forward(F, x)
        erf = F.erf(x * math.sqrt(0.5))
        # The same value, with a gradient that cancels the kernel's error.
        erf = erf / ERF_GRADIENT + F.BlockGrad(erf) * (1 - 1 / ERF_GRADIENT)
        return 0.5 * x * (1 + erf)


class Projection(nn.Dense):
    """A dense layer on the last axis whose canonical weight is (in, out); its own is (out, in)."""

    def __init__(self, inputs: int, outputs: int, *, bias: bool = True) -> None:
        super().__init__(outputs, in_units=inputs, use_bias=bias, flatten=False)


class AdaptiveAvgPool2D(gluon.HybridBlock):
    """Averages over `size` x `size` regions, which overlap if `size` does not divide the side."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """(B, C, H, W) -> (B, C, size, size)."""
        return F.contrib.AdaptiveAvgPooling2D(x, output_size=self._size)


class NormedConvolution(gluon.HybridBlock):
    """Convolution, batch norm, ReLU."""

    def __init__(
        self,
        config: Normalized,
        inputs: int,
        outputs: int,
        kernel: int | tuple[int, int],
        *,
        strides: int = 1,
        padding: int | None = None,
    ) -> None:
        super().__init__()
        self.conv = convolution(inputs, outputs, kernel, strides=strides, padding=padding)
        self.bn = normalization(config, outputs)
        self.relu = relu()

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return self.relu(self.bn(self.conv(x)))


def convolution(
    inputs: int,
    outputs: int,
    kernel: int | tuple[int, int],
    *,
    strides: int = 1,
    padding: int | None = None,
    groups: int = 1,
    bias: bool = False,
) -> nn.Conv2D:
    """By default, padded so that stride 1 keeps height and width."""
    sides = kernel if isinstance(kernel, tuple) else (kernel, kernel)
    return nn.Conv2D(
        outputs,
        sides,
        strides,
        padding=tuple(side // 2 for side in sides) if padding is None else padding,
        groups=groups,
        use_bias=bias,
        in_channels=inputs,
    )


def normalization(config: Normalized, channels: int) -> BatchNorm:
    return BatchNorm(momentum=1 - config.momentum, epsilon=config.epsilon, in_channels=channels)


def relu() -> nn.Activation:
    return nn.Activation("relu")


def sequence(*blocks: gluon.HybridBlock, **named: gluon.HybridBlock) -> nn.HybridSequential:
    """Blocks one after the other; those without a name are numbered."""
    found = nn.HybridSequential()
    found.add(*blocks)
    for name, block in named.items():
        found.register_child(block, name)
    return found


def blocks_of(model: gluon.Block, *kinds: type[gluon.Block]) -> list[Any]:
    """The blocks of `model`, including itself, that are of one of these kinds."""
    found: list[gluon.Block] = []
    model.apply(lambda block: found.append(block) if isinstance(block, kinds) else None)
    return found


class Shares(NamedTuple):
    """Marks labels as shares of classes (B, K): a symbol does not know its type."""

    labels: Any


def cross_entropy(logits: Any, labels: Any) -> Any:
    """Mean over all labels, class numbers or Shares; the last axis of the logits is K."""
    if isinstance(labels, Shares):
        return gluon.loss.SoftmaxCrossEntropyLoss(sparse_label=False)(logits, *labels).mean()
    return gluon.loss.SoftmaxCrossEntropyLoss()(logits, labels).mean()
