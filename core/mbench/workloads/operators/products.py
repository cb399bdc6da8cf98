"""Operators that are matrix products: plain ones, linear layers, convolutions, attention."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from mbench.contract.workload import Tensor
from mbench.workloads.images import windows
from mbench.workloads.operators.norms import softmax
from mbench.workloads.operators.operator import Kind, Operand

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    Arrays = Mapping[str, np.ndarray]

__all__ = ["OF_SCORE", "Attention", "BatchedMatMul", "Conv2d", "Linear", "MatMul"]

OF_SCORE = 8
"""Operations per attention score: scaling, masking and softmax."""


@dataclass(frozen=True, kw_only=True)
class MatMul(Kind):
    """x (m, k) times weight (k, n)."""

    kind: ClassVar[str] = "matmul"
    dims: ClassVar[tuple[str, ...]] = ("m", "k", "n")
    says: ClassVar[str] = "Product of matrices"
    proof_sizes: ClassVar[Mapping[str, int]] = {"m": 48, "k": 80, "n": 64}
    m: int
    k: int
    n: int

    def inputs(self) -> list[Operand]:
        return [Operand("x", (self.m, self.k))]

    def weights(self) -> list[Tensor]:
        return [Tensor("weight", (self.k, self.n), math.sqrt(3 / self.k))]

    def outputs(self) -> tuple[int, ...]:
        return (self.m, self.n)

    def macs(self) -> int:
        return self.m * self.k * self.n

    def forward(self, x: Arrays, *, training: bool) -> np.ndarray:
        return x["x"] @ x["weight"]

    def along(self, x: Arrays, vector: np.ndarray) -> np.ndarray:
        return x["x"] @ (x["weight"] @ vector)

    def backward(self, x: Arrays, direction: np.ndarray) -> dict[str, np.ndarray]:
        return {"x": direction @ x["weight"].T, "weight": x["x"].T @ direction}


@dataclass(frozen=True, kw_only=True)
class BatchedMatMul(Kind):
    """x (b, m, k) times y (b, k, n), matrix by matrix."""

    kind: ClassVar[str] = "bmm"
    dims: ClassVar[tuple[str, ...]] = ("b", "m", "k", "n")
    says: ClassVar[str] = "Products of matrices in a batch"
    proof_sizes: ClassVar[Mapping[str, int]] = {"b": 3, "m": 24, "k": 40, "n": 32}
    b: int
    m: int
    k: int
    n: int

    def inputs(self) -> list[Operand]:
        return [Operand("x", (self.b, self.m, self.k)), Operand("y", (self.b, self.k, self.n))]

    def outputs(self) -> tuple[int, ...]:
        return (self.b, self.m, self.n)

    def macs(self) -> int:
        return self.b * self.m * self.k * self.n

    def forward(self, x: Arrays, *, training: bool) -> np.ndarray:
        return x["x"] @ x["y"]

    def backward(self, x: Arrays, direction: np.ndarray) -> dict[str, np.ndarray]:
        return {
            "x": direction @ x["y"].transpose(0, 2, 1),
            "y": x["x"].transpose(0, 2, 1) @ direction,
        }


@dataclass(frozen=True, kw_only=True)
class Linear(Kind):
    """x (rows, features) times transposed weight (units, features), plus a bias if `bias` is 1."""

    kind: ClassVar[str] = "linear"
    dims: ClassVar[tuple[str, ...]] = ("rows", "features", "units")
    letters: ClassVar[Mapping[str, str]] = {"b": "bias"}
    says: ClassVar[str] = "Linear layer"
    proof_sizes: ClassVar[Mapping[str, int]] = {"rows": 12, "features": 80, "units": 64}
    rows: int
    features: int
    units: int
    bias: int = 1
    """1, or 0 for a layer without one."""

    def check(self) -> None:
        if self.bias > 1:
            raise ValueError(f"a linear layer has one bias, or none with -b0, not {self.bias}")

    def inputs(self) -> list[Operand]:
        return [Operand("x", (self.rows, self.features))]

    def weights(self) -> list[Tensor]:
        weight = Tensor("weight", (self.units, self.features), math.sqrt(3 / self.features))
        return [weight, Tensor("bias", (self.units,), 0.1)] if self.bias else [weight]

    def outputs(self) -> tuple[int, ...]:
        return (self.rows, self.units)

    def macs(self) -> int:
        return self.rows * self.features * self.units

    def forward(self, x: Arrays, *, training: bool) -> np.ndarray:
        product = x["x"] @ x["weight"].T
        return product + x["bias"] if self.bias else product

    def backward(self, x: Arrays, direction: np.ndarray) -> dict[str, np.ndarray]:
        found = {"x": direction @ x["weight"], "weight": direction.T @ x["x"]}
        return {**found, "bias": direction.sum(axis=0)} if self.bias else found


@dataclass(frozen=True, kw_only=True)
class Conv2d(Kind):
    """Zero-padded images (n, c, h, w), `filters` square kernels in `groups`, without bias."""

    kind: ClassVar[str] = "conv2d"
    dims: ClassVar[tuple[str, ...]] = ("n", "c", "h", "w")
    letters: ClassVar[Mapping[str, str]] = {
        "o": "filters", "k": "kernel", "s": "stride", "p": "padding", "g": "groups",
    }  # fmt: skip
    says: ClassVar[str] = "Convolution of images"
    proof_sizes: ClassVar[Mapping[str, int]] = {"n": 2, "h": 14, "w": 14}
    n: int
    c: int
    h: int
    w: int
    filters: int
    kernel: int
    stride: int = 1
    padding: int = 0
    groups: int = 1

    def check(self) -> None:
        if not (self.kernel and self.stride and self.groups and self.filters):
            raise ValueError(
                "filters, kernel, stride and groups of a convolution must be 1 or more"
            )
        if self.c % self.groups or self.filters % self.groups:
            raise ValueError(
                f"{self.c} channels and {self.filters} filters cannot be divided into "
                f"{self.groups} groups"
            )
        if min(self.h, self.w) + 2 * self.padding < self.kernel:
            raise ValueError(
                f"a kernel of {self.kernel} does not fit {self.h}x{self.w} padded by {self.padding}"
            )

    def inputs(self) -> list[Operand]:
        return [Operand("x", (self.n, self.c, self.h, self.w))]

    def weights(self) -> list[Tensor]:
        shape = (self.filters, self.c // self.groups, self.kernel, self.kernel)
        return [Tensor("weight", shape, math.sqrt(3 / (shape[1] * self.kernel**2)))]

    def outputs(self) -> tuple[int, ...]:
        sides = (
            windows(side, self.kernel, stride=self.stride, padding=self.padding)
            for side in (self.h, self.w)
        )
        return (self.n, self.filters, *sides)

    def macs(self) -> int:
        n, filters, high, wide = self.outputs()
        return n * filters * high * wide * self.c // self.groups * self.kernel**2

    def patches(self, x: Arrays) -> np.ndarray:
        """(n, groups, channels, high, wide, kernel, kernel): the windows of the padded images."""
        import numpy as np

        margin = (self.padding, self.padding)
        images = np.pad(x["x"], ((0, 0), (0, 0), margin, margin))
        sides = (self.kernel, self.kernel)
        found = np.lib.stride_tricks.sliding_window_view(images, sides, axis=(2, 3))
        found = found[:, :, :: self.stride, :: self.stride]
        return found.reshape(self.n, self.groups, -1, *found.shape[2:])

    def grouped(self, array: np.ndarray, *, at: int) -> np.ndarray:
        """Splits the axis `at` into groups and the elements of each."""
        shape = array.shape
        return array.reshape(*shape[:at], self.groups, shape[at] // self.groups, *shape[at + 1 :])

    def forward(self, x: Arrays, *, training: bool) -> np.ndarray:
        import numpy as np

        weight = self.grouped(x["weight"], at=0)  # (g, o, c, k, k)
        found = np.einsum("ngchwij,gocij->ngohw", self.patches(x), weight, optimize=True)
        return found.reshape(self.outputs())

    def backward(self, x: Arrays, direction: np.ndarray) -> dict[str, np.ndarray]:
        import numpy as np

        weight, given = self.grouped(x["weight"], at=0), self.grouped(direction, at=1)
        by_weight = np.einsum("ngchwij,ngohw->gocij", self.patches(x), given, optimize=True)
        spread = np.einsum("ngohw,gocij->ngchwij", given, weight, optimize=True)
        spread = spread.reshape(self.n, self.c, *spread.shape[3:])
        high, wide = direction.shape[2:]
        padded = np.zeros((self.n, self.c, self.h + 2 * self.padding, self.w + 2 * self.padding))
        for i in range(self.kernel):
            for j in range(self.kernel):
                rows = slice(i, i + self.stride * high, self.stride)
                columns = slice(j, j + self.stride * wide, self.stride)
                padded[:, :, rows, columns] += spread[..., i, j]
        top = self.padding
        inner = padded[:, :, top : top + self.h, top : top + self.w]
        return {"x": inner, "weight": by_weight.reshape(x["weight"].shape)}


@dataclass(frozen=True, kw_only=True)
class Attention(Kind):
    """Scaled dot-product attention of query, key and value (b, l, heads * width), without mask."""

    kind: ClassVar[str] = "attention"
    dims: ClassVar[tuple[str, ...]] = ("b", "l", "heads", "width")
    says: ClassVar[str] = "Attention"
    proof_sizes: ClassVar[Mapping[str, int]] = {"b": 2, "l": 12, "heads": 3}
    b: int
    l: int  # noqa: E741 (as in B, L, D)
    heads: int
    width: int

    def inputs(self) -> list[Operand]:
        return [Operand(name, self.outputs()) for name in ("query", "key", "value")]

    def outputs(self) -> tuple[int, ...]:
        return (self.b, self.l, self.heads * self.width)

    def macs(self) -> int:
        return 2 * self.b * self.heads * self.l**2 * self.width

    def besides(self) -> int:
        return OF_SCORE * self.b * self.heads * self.l**2

    def apart(self, array: np.ndarray) -> np.ndarray:
        """(b, heads, l, width)"""
        return array.reshape(self.b, self.l, self.heads, self.width).transpose(0, 2, 1, 3)

    def together(self, array: np.ndarray) -> np.ndarray:
        return array.transpose(0, 2, 1, 3).reshape(self.outputs())

    def chances(self, x: Arrays) -> np.ndarray:
        query, key = self.apart(x["query"]), self.apart(x["key"])
        return softmax(query @ key.transpose(0, 1, 3, 2) / math.sqrt(self.width))

    def forward(self, x: Arrays, *, training: bool) -> np.ndarray:
        return self.together(self.chances(x) @ self.apart(x["value"]))

    def backward(self, x: Arrays, direction: np.ndarray) -> dict[str, np.ndarray]:
        chances, given = self.chances(x), self.apart(direction)
        query, key, value = (self.apart(x[name]) for name in ("query", "key", "value"))
        by_chances = given @ value.transpose(0, 1, 3, 2)
        scores = chances * (by_chances - (by_chances * chances).sum(axis=-1, keepdims=True))
        scores = scores / math.sqrt(self.width)
        return {
            "query": self.together(scores @ key),
            "key": self.together(scores.transpose(0, 1, 3, 2) @ query),
            "value": self.together(chances.transpose(0, 1, 3, 2) @ given),
        }
