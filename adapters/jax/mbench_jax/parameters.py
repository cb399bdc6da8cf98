"""The model's tensors by canonical name; PyTorch's names and layouts are canonical."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from mbench.sdk.tensors import Native

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Tensor"]


@dataclass(frozen=True, eq=False)
class Tensor(Native):
    """An array, which never changes: another one takes its place in the dictionary it is from."""

    place: dict[str, Any] = field(default_factory=dict)
    name: str = ""

    def assign(self, array: np.ndarray) -> None:
        self.place[self.name] = jnp.array(array, self.tensor.dtype)
