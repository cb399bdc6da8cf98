"""The Net of inference-only frameworks: a graph whose weights are constants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mbench.sdk.networks.net import Array, Net
from mbench.sdk.tensors import Native

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Graph"]


@dataclass(frozen=True)
class Shape:
    """The shape of a tensor that has no memory yet."""

    shape: tuple[int, ...]


class Graph(Net[Array]):
    """A graph under construction: each layer adds its nodes, and names the tensors it needs."""

    def __init__(self, config: Any) -> None:
        self.config = config
        self.natives: dict[str, Native] = {}
        """Tensors by canonical name, without memory until `allocate`."""
        self.outputs: dict[str, Array] = {}

    def named(
        self, name: str, shape: Sequence[int], axes: Sequence[int], *, trainable: bool
    ) -> None:
        self.natives[name] = Native(Shape(tuple(shape)), trainable, axes)

    def allocate(self) -> None:
        self.natives = {
            name: Native(np.zeros(native.tensor.shape, np.float32), native.trainable, native.axes)
            for name, native in self.natives.items()
        }

    def constant(self, array: object) -> Array:
        raise NotImplementedError

    def norm_tensors(self, name: str, channels: int) -> list[Array]:
        """A batch norm's weight, bias, and running mean and variance."""
        learned = [self.tensor(f"{name}.{leaf}", (channels,)) for leaf in ("weight", "bias")]
        kept = ("running_mean", "running_var")
        return learned + [
            self.tensor(f"{name}.{leaf}", (channels,), trainable=False) for leaf in kept
        ]

    def embedding(self, name: str, rows: int, width: int) -> Array:
        return self.tensor(f"{name}.weight", (rows, width))

    def first_rows(self, table: Array, count: int) -> Array:
        return self.rows(table, self.constant(range(count)))

    def biased(self, x: Array, name: str) -> Array:
        return self.sum(x, self.tensor(name, (x.shape[-1],)))
