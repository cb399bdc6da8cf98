"""Which variance a framework's batch norm averages: the biased one, or the unbiased one.

Kernels of one framework differ in it, cuDNN's from those for CPU. So an adapter asks the kernel
that is used: it runs one batch norm on SAMPLE.
"""

from __future__ import annotations

import numpy as np

from mbench.sdk.checks import require

__all__ = ["SAMPLE", "is_unbiased"]

SAMPLE = np.arange(4.0).reshape(1, 1, 2, 2)
"""(B, C, H, W): one channel of four values, exact in every type."""
BIASED, UNBIASED = float(SAMPLE.var()), float(SAMPLE.var(ddof=1))
WITHIN = 1e-2
"""Of half precision; they are a third apart."""


def is_unbiased(kept: float) -> bool:
    """By the running variance after a training step on SAMPLE, none of which is older.

    Raises Unsupported where it is neither.
    """
    found = [abs(kept - variance) <= WITHIN * variance for variance in (BIASED, UNBIASED)]
    said = f"batch norm keeps {kept:.4g} here, and {BIASED:.4g} or {UNBIASED:.4g} is a variance"
    require(any(found), f"{said}: its running statistics cannot be compared")
    return found[1]
