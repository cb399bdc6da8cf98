"""The integers of int8: what every framework multiplies activations by in linear layers.

They are computed here, on both sides, so that a framework's integers can be compared with them
number by number. Frameworks' quantisers differ in ranges, rounding and which layers they leave out.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from mbench.contract.workload import Tensor, Workload

__all__ = ["FAMILIES", "LARGEST", "digest", "has_integers", "integers_of", "linear_weights",
           "whole"]  # fmt: skip

FAMILIES = ("bert", "llama", "vit")
"""Families of models that have int8: nearly all of their work is in linear layers."""
LARGEST = 127
"""The largest magnitude of an integer: as many values below zero as above."""
TABLE = "embed"
"""Part of the name of every lookup table."""


def has_integers(name: str, shape: Sequence[int]) -> bool:
    """Whether a tensor is the weight (out, in) of a linear layer. A head that is also the word
    embedding does not count: it stays in single precision.
    """
    return len(shape) == 2 and TABLE not in name


def linear_weights(workload: Workload) -> list[Tensor]:
    """The weights of a workload's linear layers, in the order of its tensors."""
    return [one for one in workload.tensors() if has_integers(one.name, one.shape)]


def integers_of(weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """int8 (out, in) and float32 scales (out,) of a weight (out, in): each row by itself, symmetric
    around zero, ties to even. A row is roughly its integers times its scale.
    """
    import numpy as np

    wide = weight.astype(np.float64)
    largest = np.abs(wide).max(axis=1)
    scales = (np.where(largest > 0, largest, 1.0) / LARGEST).astype(np.float32)
    rounded = np.rint(wide / scales[:, None].astype(np.float64))
    return np.clip(rounded, -LARGEST, LARGEST).astype(np.int8), scales


def whole(integers: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """The weight (out, in) that integers and scales stand for, in the type of the scales."""
    found: np.ndarray = integers.astype(scales.dtype) * scales[:, None]
    return found


def digest(integers: np.ndarray, scales: np.ndarray) -> str:
    """16 hexadecimal digits that differ if a single integer, a scale, a shape or a type does."""
    import numpy as np

    found = hashlib.sha256()
    for array in (integers, scales):
        found.update(f"{array.dtype} {array.shape}\n".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:16]
