"""Whether matrix products are of the precision that a case asks for, by a product itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mbench.sdk.checks import require

if TYPE_CHECKING:
    from mbench.contract.precision import Precision

__all__ = ["SIDE", "check_products"]

SIDE = 512
"""Of the matrices: the product takes the host some milliseconds in float64."""
SINGLE, ROUNDED = 2e-6, 5e-6
"""Relative errors: of float32 products at most, and of TensorFloat-32 ones at least. Of numbers
around 0 theirs are 3e-7 and 3e-4, as inputs are rounded to 24 and to 11 bits."""


def check_products(precision: Precision, a: np.ndarray, b: np.ndarray, product: np.ndarray) -> None:
    """Raises Unsupported unless `product`, A B, is rounded as `precision` says.

    For float32 parameters and products, where TensorFloat-32 is set apart from IEEE by nothing but
    what comes out. Drivers' variables and builds override what a framework was told.
    """
    found, one, other = (array.astype(np.float64) for array in (product, a, b))
    due = one @ other
    error = float(np.linalg.norm(found - due) / np.linalg.norm(due))
    said = f"{precision.name} has no effect here: products are off by {error:.0e}"
    if precision.tf32:
        hint = "see NVIDIA_TF32_OVERRIDE and what the GPU can do"
        require(error > ROUNDED, f"{said}, which is not TensorFloat-32; {hint}")
    else:
        hint = "unset variables that have TF32 in their names"
        require(error < SINGLE, f"{said}, which is not IEEE single precision; {hint}")
