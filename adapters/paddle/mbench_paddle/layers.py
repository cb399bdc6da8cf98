"""paddle.nn's layers, made exact in float64 where their kernels hold constants in float32.

Otherwise they are paddle.nn's own classes. Before each step, to_static checks whether anything that
a layer's code reads has changed: four times as much if the layer is not PaddlePaddle's own.

Shapes: B batch, C channels, H W pixels.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Protocol

import numpy as np
import paddle
from paddle import nn
from paddle.nn import functional as F

__all__ = [
    "AveragePool",
    "BasicConv2D",
    "Normalized",
    "Projection",
    "batch_norm",
    "exact",
    "exactly",
    "held",
    "layer_norm",
    "layers_of",
    "norm",
    "with_dropout",
    "with_exact_norms",
]

ROUNDING = 1e-12
"""More than float64's rounding error, and far less than float32's."""


class Normalized(Protocol):
    """A model's batch norm settings; `momentum` is the weight of the new statistic."""

    @property
    def epsilon(self) -> float: ...

    @property
    def momentum(self) -> float: ...


class ExactBatchNorm2D(nn.BatchNorm2D):
    """paddle.nn's own, with its input scaled to suit the kernel's epsilon.

    The kernel takes epsilon as float32, 2.5e-8 off, which a proof in float64 would detect. With
    both statistics scaled accordingly (see statistics.py), the output is that of the true epsilon.
    """

    def __init__(self, channels: int, *, momentum: float, epsilon: float) -> None:
        super().__init__(channels, momentum=momentum, epsilon=epsilon)
        self.stretch = stretch(epsilon)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        """(B, C, H, W) -> (B, C, H, W)."""
        return F.batch_norm(  # to_static would call super().forward endlessly
            stretched(x, self.stretch),
            self._mean,
            self._variance,
            weight=self.weight,
            bias=self.bias,
            training=self.training,
            momentum=self._momentum,
            epsilon=self._epsilon,
        )


class ExactLayerNorm(nn.LayerNorm):
    """paddle.nn's own, with its input scaled to suit the kernel's epsilon."""

    def __init__(self, features: int, *, epsilon: float, **settings: Any) -> None:
        super().__init__(features, epsilon, **settings)
        self.stretch = stretch(epsilon)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        return super().forward(stretched(x, self.stretch))


class BasicConv2D(nn.Layer):
    """A convolution without a bias, its batch norm and a ReLU, as in all of Inception."""

    def __init__(
        self,
        config: Normalized,
        inputs: int,
        outputs: int,
        kernel: int | tuple[int, int],
        **options: Any,
    ) -> None:
        super().__init__()
        self.conv = nn.Conv2D(inputs, outputs, kernel, bias_attr=False, **options)
        self.bn = norm(config, outputs)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        return F.relu(self.bn(self.conv(x)))


class Projection(nn.Linear):
    """paddle.nn's own, for weights whose canonical layout is (in, out) too, as in GPT-2."""


class AveragePool(nn.Layer):
    """Averages of windows, in which the padding's zeros count.

    In a float64 model, the gradient is corrected for what the kernel loses of 1 / area: the CPU
    kernel has it in float32, the CUDA kernel does not. So the loss is measured.
    """

    def __init__(self, kernel: int, *, stride: int = 1, padding: int = 0) -> None:
        super().__init__()
        self._pool = partial(
            F.avg_pool2d, kernel_size=kernel, stride=stride, padding=padding, exclusive=False
        )
        self._lost = lost_by_pooling(kernel) if exact() else 0.0

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        pooled = self._pool(x)
        if not self._lost:
            return pooled
        return pooled + (pooled - pooled.detach()) * exactly(self._lost, like=x)


def lost_by_pooling(kernel: int) -> float:
    """The relative loss in the gradient of a mean over `kernel` x `kernel` float64 numbers."""
    x = paddle.ones([1, 1, kernel, kernel], "float64")
    x.stop_gradient = False
    F.avg_pool2d(x, kernel, exclusive=False).sum().backward()
    lost = 1 / (kernel**2 * x.grad.max().item()) - 1
    return lost if abs(lost) > ROUNDING else 0.0


def layers_of(model: nn.Layer, *kinds: type[nn.Layer]) -> list[nn.Layer]:
    """The layers of `model` that are of one of these kinds."""
    return [layer for layer in model.sublayers() if isinstance(layer, kinds)]


def exact() -> bool:
    """Whether a model in float64 is being built."""
    return bool(paddle.get_default_dtype() == "float64")


def batch_norm(channels: int, *, momentum: float, epsilon: float) -> nn.BatchNorm2D:
    """`momentum` is the weight of the old statistic, not of the new one."""
    kind = ExactBatchNorm2D if exact() else nn.BatchNorm2D
    return kind(channels, momentum=momentum, epsilon=epsilon)


def layer_norm(features: int, *, epsilon: float, learned: bool = True) -> nn.LayerNorm:
    """With a weight and a bias if they are `learned`."""
    kind = ExactLayerNorm if exact() else nn.LayerNorm
    settings = {} if learned else {"weight_attr": False, "bias_attr": False}
    return kind(features, epsilon=epsilon, **settings)


def norm(config: Normalized, channels: int) -> nn.BatchNorm2D:
    return batch_norm(channels, momentum=1 - config.momentum, epsilon=config.epsilon)


def with_exact_norms(model: nn.Layer, config: Normalized) -> nn.Layer:
    """`model`, one of paddle.vision's, with each batch norm replaced by `norm`'s."""
    for parent in model.sublayers(include_self=True):
        for name, layer in list(parent.named_children()):
            if isinstance(layer, nn.BatchNorm2D):
                parent.add_sublayer(name, norm(config, layer._num_features))
    return model


def with_dropout(model: nn.Layer, rate: float) -> nn.Layer:
    """`model`, one of paddle.vision's, with this rate in each dropout."""
    for layer in layers_of(model, nn.Dropout):
        layer.p = rate
    return model


def exactly(number: float, *, like: paddle.Tensor) -> paddle.Tensor:
    """`number` in the type of `like`: a static graph multiplies by plain numbers in float32."""
    return paddle.full([], number, dtype=like.dtype)


def held(constant: float) -> float:
    """A constant as rounded by a kernel that takes it as float32.

    The operator rounds it, for kernels of every device: `epsilon` and `momentum` of batch_norm,
    `epsilon` of layer_norm, `mu` and `regularization_coeff` of momentum_ are float in phi's
    declarations, which the CPU and CUDA kernels share.
    """
    return float(np.float32(constant))


def stretch(epsilon: float) -> float:
    return math.sqrt(held(epsilon) / epsilon)


def stretched(x: paddle.Tensor, factor: float) -> paddle.Tensor:
    return x * exactly(factor, like=x)
