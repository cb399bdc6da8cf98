"""Peak rates from data sheets, by the names that the driver gives to GPUs."""

from __future__ import annotations

import pytest

from mbench.results.ceiling import TERA, peak_flops


@pytest.mark.parametrize(
    ("name", "products", "tera"),
    [
        ("NVIDIA A100-SXM4-40GB", "float16", 312),
        ("NVIDIA H100 80GB HBM3", "tf32", 494),
        ("NVIDIA H100 PCIe", "bfloat16", 756),
        ("NVIDIA H200", "float32", 67),
        ("Tesla T4", "bfloat16", None),
        ("NVIDIA RTX A3000 Laptop GPU", "float16", None),
        ("NVIDIA GB200", "float16", None),
        ("NVIDIA Made-Up 100", "float16", None),
    ],
)
def test_peaks_are_those_of_the_gpu(name, products, tera):
    assert peak_flops(name, products) == (None if tera is None else tera * TERA)
