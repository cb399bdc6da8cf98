"""Operators that compute elementwise, or window by window."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from mbench.workloads.images import windows
from mbench.workloads.operators.operator import Kind, Operand

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    Arrays = Mapping[str, np.ndarray]

__all__ = [
    "Add",
    "Copy",
    "Empty",
    "FromDevice",
    "Gelu",
    "MaxPool",
    "MeanPool",
    "Pointwise",
    "Relu",
    "ToDevice",
]


@dataclass(frozen=True, kw_only=True)
class Pointwise(Kind):
    """Computes on x (rows, features)."""

    dims: ClassVar[tuple[str, ...]] = ("rows", "features")
    proof_sizes: ClassVar[Mapping[str, int]] = {"rows": 6, "features": 96}
    rows: int
    features: int

    def inputs(self) -> list[Operand]:
        return [Operand("x", self.outputs())]

    def outputs(self) -> tuple[int, ...]:
        return (self.rows, self.features)


@dataclass(frozen=True, kw_only=True)
class Empty(Pointwise):
    """x itself: the cost of a call that computes nothing."""

    kind: ClassVar[str] = "empty"
    says: ClassVar[str] = "Call that computes nothing"

    def forward(self, x: Arrays, *, training: bool) -> np.ndarray:
        return x["x"]

    def backward(self, x: Arrays, direction: np.ndarray) -> dict[str, np.ndarray]:
        return {"x": direction}


class Copy(Pointwise):
    """A mere copy has no gradients."""

    def forward(self, x: Arrays, *, training: bool) -> np.ndarray:
        return x["x"]


@dataclass(frozen=True, kw_only=True)
class ToDevice(Copy):
    """A NumPy array x becomes a tensor on the device, in its own memory."""

    kind: ClassVar[str] = "to_device"
    says: ClassVar[str] = "Copy from the host to the device"


@dataclass(frozen=True, kw_only=True)
class FromDevice(Copy):
    """A tensor x on the device becomes a NumPy array, in its own memory."""

    kind: ClassVar[str] = "from_device"
    says: ClassVar[str] = "Copy from the device to the host"


@dataclass(frozen=True, kw_only=True)
class Relu(Pointwise):
    kind: ClassVar[str] = "relu"
    says: ClassVar[str] = "ReLU"

    def forward(self, x: Arrays, *, training: bool) -> np.ndarray:
        return x["x"] * (x["x"] > 0)

    def backward(self, x: Arrays, direction: np.ndarray) -> dict[str, np.ndarray]:
        return {"x": direction * (x["x"] > 0)}


@dataclass(frozen=True, kw_only=True)
class Gelu(Pointwise):
    """The exact GELU: x times the share of the normal distribution below x."""

    kind: ClassVar[str] = "gelu"
    says: ClassVar[str] = "GELU"

    def below(self, x: Arrays) -> np.ndarray:
        import numpy as np

        return (1 + np.vectorize(math.erf)(x["x"] / math.sqrt(2))) / 2

    def forward(self, x: Arrays, *, training: bool) -> np.ndarray:
        return x["x"] * self.below(x)

    def backward(self, x: Arrays, direction: np.ndarray) -> dict[str, np.ndarray]:
        import numpy as np

        density = np.exp(-(x["x"] ** 2) / 2) / math.sqrt(2 * math.pi)
        return {"x": direction * (self.below(x) + x["x"] * density)}


@dataclass(frozen=True, kw_only=True)
class Add(Pointwise):
    """x plus y."""

    kind: ClassVar[str] = "add"
    says: ClassVar[str] = "Sum of two tensors"

    def inputs(self) -> list[Operand]:
        return [Operand("x", self.outputs()), Operand("y", self.outputs())]

    def forward(self, x: Arrays, *, training: bool) -> np.ndarray:
        return x["x"] + x["y"]

    def backward(self, x: Arrays, direction: np.ndarray) -> dict[str, np.ndarray]:
        return {"x": direction, "y": direction}


@dataclass(frozen=True, kw_only=True)
class MaxPool(Kind):
    """The largest number in each square window of images (n, c, h, w), padded by minus infinity."""

    kind: ClassVar[str] = "max_pool"
    dims: ClassVar[tuple[str, ...]] = ("n", "c", "h", "w")
    letters: ClassVar[Mapping[str, str]] = {"k": "kernel", "s": "stride", "p": "padding"}
    says: ClassVar[str] = "Max pooling"
    proof_sizes: ClassVar[Mapping[str, int]] = {"n": 2, "c": 16, "h": 14, "w": 14}
    n: int
    c: int
    h: int
    w: int
    kernel: int
    stride: int = 1
    padding: int = 0

    def check(self) -> None:
        if not (self.kernel and self.stride):
            raise ValueError("kernel and stride of max pooling must be 1 or more")
        if 2 * self.padding > self.kernel:
            raise ValueError(
                f"a padding of {self.padding} is more than half the kernel size, {self.kernel}"
            )
        if min(self.h, self.w) + 2 * self.padding < self.kernel:
            raise ValueError(f"a window of {self.kernel} does not fit {self.h}x{self.w}")

    def inputs(self) -> list[Operand]:
        return [Operand("x", (self.n, self.c, self.h, self.w))]

    def outputs(self) -> tuple[int, ...]:
        sides = (
            windows(side, self.kernel, stride=self.stride, padding=self.padding)
            for side in (self.h, self.w)
        )
        return (self.n, self.c, *sides)

    def patches(self, x: Arrays) -> np.ndarray:
        """The windows, (n, c, high, wide, kernel * kernel)."""
        import numpy as np

        margin = (self.padding, self.padding)
        images = np.pad(x["x"], ((0, 0), (0, 0), margin, margin), constant_values=-np.inf)
        sides = (self.kernel, self.kernel)
        found = np.lib.stride_tricks.sliding_window_view(images, sides, axis=(2, 3))
        found = found[:, :, :: self.stride, :: self.stride]
        return found.reshape(*found.shape[:4], -1)

    def forward(self, x: Arrays, *, training: bool) -> np.ndarray:
        return self.patches(x).max(-1)

    def backward(self, x: Arrays, direction: np.ndarray) -> dict[str, np.ndarray]:
        import numpy as np

        chosen = self.patches(x).argmax(-1)
        images, channels, high, wide = np.indices(direction.shape)
        rows = high * self.stride + chosen // self.kernel - self.padding
        columns = wide * self.stride + chosen % self.kernel - self.padding
        found = np.zeros(x["x"].shape)
        np.add.at(found, (images, channels, rows, columns), direction)
        return {"x": found}


@dataclass(frozen=True, kw_only=True)
class MeanPool(Kind):
    """The mean of all pixels of images (n, c, h, w): (n, c)."""

    kind: ClassVar[str] = "mean_pool"
    dims: ClassVar[tuple[str, ...]] = ("n", "c", "h", "w")
    says: ClassVar[str] = "Mean over all pixels"
    proof_sizes: ClassVar[Mapping[str, int]] = {"n": 2, "c": 16, "h": 6, "w": 6}
    n: int
    c: int
    h: int
    w: int

    def inputs(self) -> list[Operand]:
        return [Operand("x", (self.n, self.c, self.h, self.w))]

    def outputs(self) -> tuple[int, ...]:
        return (self.n, self.c)

    def forward(self, x: Arrays, *, training: bool) -> np.ndarray:
        return x["x"].mean((2, 3))

    def backward(self, x: Arrays, direction: np.ndarray) -> dict[str, np.ndarray]:
        import numpy as np

        given = direction[:, :, None, None] / (self.h * self.w)
        return {"x": np.broadcast_to(given, x["x"].shape).copy()}
