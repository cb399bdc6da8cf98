"""megengine.module's layers, as the model files use them.

Shapes: B batch, C channels, H W pixels, L sequence, D features of a head.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import megengine as mge
import numpy as np
from megengine import functional as F
from megengine import module as M
from megengine.autodiff import Function
from megengine.core._imperative_rt.core2 import apply
from megengine.core.ops import builtin

from mbench.contract.compat import Protocol, zipped
from mbench.sdk.regions import shares
from mbench_megengine.parameters import placed

if TYPE_CHECKING:
    from megengine import Tensor

__all__ = ["AveragePool", "BasicConv2d", "Dropout", "MaxPool", "Normalized", "ReLU6", "Regions",
           "attend", "conv", "flat", "norm", "pixels", "seed"]  # fmt: skip


class Normalized(Protocol):
    """A model's batch norm settings; `momentum` is the weight of the new statistic."""

    @property
    def epsilon(self) -> float: ...

    @property
    def momentum(self) -> float: ...


def conv(
    inputs: int,
    outputs: int,
    kernel: int | tuple[int, int],
    *,
    stride: int = 1,
    padding: int | tuple[int, int] | None = None,
    groups: int = 1,
    bias: bool = False,
) -> M.Conv2d:
    """A convolution, padded by half its kernel by default."""
    if padding is None:
        sides = (kernel, kernel) if isinstance(kernel, int) else kernel
        padding = (sides[0] // 2, sides[1] // 2)
    return M.Conv2d(inputs, outputs, kernel, stride, padding, groups=groups, bias=bias)


def norm(config: Normalized, channels: int) -> M.BatchNorm2d:
    """Batch norm; MegEngine's momentum is the share of the old statistic."""
    return M.BatchNorm2d(channels, eps=config.epsilon, momentum=1 - config.momentum)


class BasicConv2d(M.Module):
    """A convolution without a bias, its batch norm and a ReLU, as in all of Inception."""

    def __init__(
        self, config: Normalized, inputs: int, outputs: int, kernel: Any, **options: Any
    ) -> None:
        super().__init__()
        self.conv = conv(inputs, outputs, kernel, **options)
        self.bn = norm(config, outputs)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.bn(self.conv(x)))


class Dropout(M.Dropout):
    """megengine.module's own, but calling MegEngine's operation with a generator for each layer.

    megengine.module's layers all share one generator. In a traced graph, each starts from its seed,
    so all layers of the same shape would drop the same elements.
    """

    generator: mge.random.RNG | None = None
    """Set by `seed`."""

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or not self.drop_prob:
            return x
        own = self.generator
        assert own is not None, "dropout is to be seeded"
        drop = builtin.Dropout(drop_prob=self.drop_prob, seed=own._seed, handle=own._handle)
        return apply(drop, x)[0]


def seed(model: M.Module, number: int) -> None:
    """Seed everything random in `model`."""
    layers = [module for module in model.modules() if isinstance(module, Dropout)]
    for layer, own in zipped(layers, np.random.SeedSequence(number).generate_state(len(layers))):
        layer.generator = mge.random.RNG(int(own))


class MaxPool(M.MaxPool2d):
    """megengine.module's own, which pads with the lowest number.

    `ceil` lets the last window extend past the edge. MegEngine's windows cannot, so images get
    zeros after the last pixel. The images must be a ReLU's output.

    `ties` is for the output of another pooling whose windows overlap, which repeats pixels. If
    equal pixels are a window's greatest, MegEngine gives each of them the whole gradient, which
    they should share.
    """

    def __init__(
        self,
        kernel: int,
        *,
        stride: int = 2,
        padding: int = 0,
        ceil: bool = False,
        ties: bool = False,
    ) -> None:
        super().__init__(kernel, stride, padding)
        self.ceil = ceil
        self.ties = ties

    def forward(self, x: Tensor) -> Tensor:
        juts = -(x.shape[2] - self.kernel_size) % self.stride if self.ceil else 0
        if juts:
            x = F.nn.pad(x, ((0, 0), (0, 0), (0, juts), (0, juts)))
        found = super().forward(x)
        if not self.ties or not self.training:
            return found
        return Shared(self.tied(x.detach(), found.detach()))(found)

    def tied(self, x: Tensor, found: Tensor) -> Tensor:
        """How many pixels of each window have its greatest value."""
        _, _, height, width = found.shape
        side, step = (self.padding, self.padding), self.stride
        # The padding is less than any output of a ReLU.
        x = F.nn.pad(x, ((0, 0), (0, 0), side, side), constant_value=-1.0)
        shifts = itertools.product(range(self.kernel_size), repeat=2)
        return sum(
            F.equal(
                x[:, :, down : down + step * height : step, across : across + step * width : step],
                found,
            ).astype("float32")
            for down, across in shifts
        )


class Shared(Function):
    """Returns its input, and divides the gradient by `count`."""

    def __init__(self, count: Tensor) -> None:
        super().__init__()
        self.count = count

    def forward(self, x: Tensor) -> Tensor:
        return x + 0.0

    def backward(self, gradient: Tensor) -> Tensor:
        return gradient / self.count


class ReLU6(M.Module):
    """min(max(x, 0), 6)."""

    def forward(self, x: Tensor) -> Tensor:
        return F.relu6(x)


class AveragePool(M.AvgPool2d):
    """Averages of windows, in which the padding's zeros count."""

    def __init__(self, kernel: int, *, stride: int = 1, padding: int = 0) -> None:
        super().__init__(kernel, stride, padding, mode="average")


class Regions(M.Module):
    """(B, C, H, W) -> (B, C, count, count): means over as many regions per side.

    Computed as two products. M.AdaptiveAvgPool2d has other regions if `count` does not divide the
    side, and ends the process if `count` is larger. At the usual sizes, each region is a pixel.
    """

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count

    def forward(self, x: Tensor) -> Tensor:
        _, _, height, width = x.shape
        if height == width == self.count:
            return x
        down, across = (placed(shares(side, self.count)) for side in (height, width))
        return F.matmul(F.matmul(down, x), across, transpose_b=True)


def pixels(x: Tensor) -> Tensor:
    """(B, C, H, W) -> (B, C): the mean over all pixels."""
    return F.mean(x, axis=(2, 3))


def flat(x: Tensor) -> Tensor:
    """(B, C, H, W) -> (B, C * H * W)."""
    return F.flatten(x, 1)


def attend(query: Tensor, key: Tensor, value: Tensor, dropout: M.Module, *, width: int) -> Tensor:
    """Attention on (B, heads, L, D), where D is `width`: two products around a softmax."""
    scores = F.matmul(query * (1 / math.sqrt(width)), key, transpose_b=True)
    return F.matmul(dropout(F.softmax(scores, axis=-1)), value)
