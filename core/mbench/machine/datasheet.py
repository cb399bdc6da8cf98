"""Peak rates of GPUs by their makers' data sheets, to compare with published numbers.

Of dense products at boost clocks, not the doubled figures for sparse matrices. Sources: NVIDIA's
data sheet of each product ("Tesla V100", "T4", "A10", "A30", "A100 80GB", "L4", "L40S", "H100",
"H200", "DGX B200").
"""

from __future__ import annotations

__all__ = ["TERA", "peak_flops"]

TERA = 1e12
TYPES = ("float64", "float32", "tf32", "float16", "bfloat16")
HOPPER = (67, 67, 494, 989, 989)
SHEETS = (
    # Beginning of the driver's name; TFLOP/s of products in each of TYPES.
    ("Tesla V100-SXM2", (7.8, 15.7, None, 125, None)),
    ("Tesla V100-PCIE", (7, 14, None, 112, None)),
    ("Tesla T4", (None, 8.1, None, 65, None)),
    ("NVIDIA A100", (19.5, 19.5, 156, 312, 312)),
    ("NVIDIA A30", (10.3, 10.3, 82, 165, 165)),
    ("NVIDIA L40S", (None, 91.6, 183, 362, 362)),
    ("NVIDIA H100 PCIe", (51, 51, 378, 756, 756)),
    ("NVIDIA H100 80GB HBM3", HOPPER),
    ("NVIDIA H200", HOPPER),
    ("NVIDIA B200", (37, 75, 1100, 2250, 2250)),
)


def peak_flops(name: str, products: str) -> float | None:
    """FLOP/s of products in a type; None for a device or a type that is not listed.

    `products` is a neutral name of a type, or "tf32".
    """
    for begins, peaks in SHEETS:
        # "A30" must not match "A3000".
        if name.startswith(begins) and not name[len(begins) : len(begins) + 1].isalnum():
            found = dict(zip(TYPES, peaks, strict=True)).get(products)
            return None if found is None else found * TERA
    return None
