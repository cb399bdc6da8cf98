"""Weights of linear layers that a framework keeps as the core's 8-bit integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mbench.contract.quantized import has_integers, integers_of, whole
from mbench.sdk.tensors import Native

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Integers", "Quantized", "allocated", "held"]


class Quantized(Native):
    """Stores a canonical value as integers. Adapters whose frameworks keep integers in their own
    format subclass it, so that what is compared is what they multiply by.
    """

    def write(self, array: np.ndarray) -> None:
        self.take(*integers_of(array))

    def read(self) -> np.ndarray:
        """The values that the integers stand for, in float32."""
        return whole(*self.integers())

    def take(self, integers: np.ndarray, scales: np.ndarray) -> None:
        """Keep int8 (out, in) and float32 scales (out,)."""
        raise NotImplementedError(f"{type(self).__name__} must take integers")

    def integers(self) -> tuple[np.ndarray, np.ndarray]:
        """The framework's current integers, int8 (out, in), and float32 scales (out,)."""
        raise NotImplementedError(f"{type(self).__name__} must have integers")


@dataclass(frozen=True, eq=False)
class Integers(Quantized):
    """Integers in arrays, which become constants of a graph."""

    scales: np.ndarray | None = None

    def take(self, integers: np.ndarray, scales: np.ndarray) -> None:
        own, kept = self.integers()
        own[...], kept[...] = integers, scales

    def integers(self) -> tuple[np.ndarray, np.ndarray]:
        assert self.scales is not None
        return self.tensor, self.scales


def allocated(natives: Mapping[str, Native]) -> dict[str, Native]:
    """The tensors of a graph with memory: linear layers' weights as integers."""
    found: dict[str, Native] = {}
    for name, native in natives.items():
        shape = native.shape
        if has_integers(name, shape):
            scales = np.zeros(shape[0], np.float32)
            found[name] = Integers(np.zeros(shape, np.int8), native.trainable, scales=scales)
        else:
            memory = np.zeros(native.tensor.shape, np.float32)
            found[name] = Native(memory, native.trainable, native.axes)
    return found


def held(natives: Mapping[str, Native]) -> Iterator[tuple[str, tuple[np.ndarray, np.ndarray]]]:
    """The current integers and scales of each weight that is kept as integers."""
    for name, native in natives.items():
        if isinstance(native, Quantized):
            yield name, native.integers()
