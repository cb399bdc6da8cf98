"""What makes a case unsupported: a device or build without support, a toggle without effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mbench.contract.adapter import Unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.contract.precision import Precision

__all__ = ["SAMPLE", "SIDE", "check_capability", "check_effect", "check_products", "is_unbiased",
           "require"]  # fmt: skip


def require(found: object, otherwise: str) -> None:
    """Raises Unsupported with the reason `otherwise`, unless `found` is true."""
    if not found:
        raise Unsupported(otherwise)


def check_capability(precision: Precision, capability: tuple[int, ...]) -> None:
    """Raises Unsupported if GPUs of this compute capability lack the precision's arithmetic."""
    if capability < (8, 0):
        require(not precision.tf32, "TensorFloat-32 needs compute capability 8.0 or newer")
        other = precision.products != "bfloat16"
        require(other, "this GPU only emulates bfloat16: use fp16 or amp-fp16")


def check_effect(precision: Precision, found: Mapping[str, object], expected: object) -> None:
    """Raises Unsupported unless all types in `found`, by what has them, are as expected."""
    for name, dtype in found.items():
        require(dtype == expected, f"{precision.name} has no effect here: {name} is {dtype}")


SAMPLE = np.arange(4.0).reshape(1, 1, 2, 2)
"""(B, C, H, W): one channel of four values, exact in every type."""
BIASED, UNBIASED = float(SAMPLE.var()), float(SAMPLE.var(ddof=1))
WITHIN = 1e-2
"""Relative tolerance, which allows for half precision; the two variances differ by a third."""


def is_unbiased(kept: float) -> bool:
    """Whether a batch norm averages the unbiased variance, judged by the running variance that
    `kept` holds after a first training step on SAMPLE. A framework's kernels may differ, such as
    cuDNN's and those for CPU, so an adapter tests the one in use.

    Raises Unsupported if it is close to neither variance.
    """
    found = [abs(kept - variance) <= WITHIN * variance for variance in (BIASED, UNBIASED)]
    said = f"batch norm keeps {kept:.4g} here, not a variance of {BIASED:.4g} or {UNBIASED:.4g}"
    require(any(found), f"{said}: its running statistics cannot be compared")
    return found[1]


SIDE = 512
"""Side of the matrices: their product takes the host a few milliseconds in float64."""
SINGLE, ROUNDED = 2e-6, 5e-6
"""Relative errors: the largest allowed for float32 products, and the smallest for TensorFloat-32
products. For numbers around 0, errors are 3e-7 and 3e-4, because inputs are rounded to 24 and 11
bits."""


def check_products(precision: Precision, a: np.ndarray, b: np.ndarray, product: np.ndarray) -> None:
    """Raises Unsupported unless `product`, A B, is rounded as `precision` says.

    This is for float32 parameters and products, where only the result tells TensorFloat-32 from
    IEEE: drivers' variables and builds override a framework's settings.
    """
    found, one, other = (array.astype(np.float64) for array in (product, a, b))
    due = one @ other
    error = float(np.linalg.norm(found - due) / np.linalg.norm(due))
    said = f"{precision.name} has no effect here: products are off by {error:.0e}"
    if precision.tf32:
        hint = "check NVIDIA_TF32_OVERRIDE and what the GPU supports"
        require(error > ROUNDED, f"{said}, which is not TensorFloat-32; {hint}")
    else:
        hint = "unset variables that have TF32 in their names"
        require(error < SINGLE, f"{said}, which is not IEEE single precision; {hint}")
