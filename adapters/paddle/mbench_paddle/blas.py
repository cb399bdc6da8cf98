"""The matrix products of PaddlePaddle's CPU build, and the variable that controls them."""

from __future__ import annotations

import os
from pathlib import Path

import paddle

__all__ = ["VARIABLE", "differences"]

VARIABLE = "MKL_DEBUG_CPU_TYPE"
"""Read by the MKL of 2019 that PaddlePaddle brings (libmklml_intel): 5 is its path for AVX2."""
LIBRARY = Path(paddle.__file__).parent / "libs" / "libmklml_intel.so"
PROCESSOR = Path("/proc/cpuinfo")


def differences() -> list[str]:
    """What a reader should know about MKL's choice on this processor; empty on Intel's own, and for
    a build without MKL.

    MKL of that age takes its slowest path on other vendors' processors. PaddlePaddle's
    documentation does not mention it, so its users get that path, and so does mbench.
    """
    if not LIBRARY.exists():
        return []
    if chosen := os.environ.get(VARIABLE):
        return [f"{VARIABLE}={chosen} chooses the path of MKL's matrix products"]
    try:
        made_by_intel = "GenuineIntel" in PROCESSOR.read_text()
    except OSError:
        return []
    if made_by_intel:
        return []
    return [f"MKL takes its slowest path, this being no Intel processor: {VARIABLE}=5 is faster"]
