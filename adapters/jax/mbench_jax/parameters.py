"""The model's tensors by canonical name; PyTorch's names and layouts are canonical."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from mbench.sdk import tensors
from mbench.sdk.tensors import Native

if TYPE_CHECKING:
    from collections.abc import Callable

    import jax
    import numpy as np

__all__ = ["Tensor", "local", "to_numpy"]


def local(array: jax.Array) -> jax.Array:
    """This process's part of an array that is spread over several processes' devices."""
    return array if array.is_fully_addressable else array.addressable_data(0)


def to_numpy(array: jax.Array) -> np.ndarray:
    return tensors.to_numpy(local(array))


def itself(array: jax.Array) -> jax.Array:
    return array


@dataclass(frozen=True, eq=False)
class Tensor(Native):
    """An array, which is immutable: writing replaces it in the dictionary that holds it."""

    place: dict[str, Any] = field(default_factory=dict)
    name: str = ""
    put: Callable[..., Any] = itself
    """Turns the array into one that a step accepts."""

    def assign(self, array: np.ndarray) -> None:
        self.place[self.name] = self.put(jnp.array(array, self.tensor.dtype))
