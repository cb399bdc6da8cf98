"""A matrix product shows whether arithmetic is fp32 or tf32; here, it is rounded by hand."""

from __future__ import annotations

import numpy as np
import pytest

from mbench.contract.adapter import Unsupported
from mbench.contract.precision import PRECISIONS
from mbench.sdk.checks import SIDE, check_products


def operands():
    draw = np.random.default_rng(0)
    return [draw.random((SIDE, SIDE), dtype=np.float32) for _ in range(2)]


def tf32(array):
    """The array, rounded to 10 bits of mantissa."""
    bits = array.view(np.uint32) + np.uint32(1 << 12)
    return (bits & np.uint32(0xFFFFE000)).view(np.float32)


def check(name, product, a, b):
    check_products(PRECISIONS[name], a, b, product)


def test_single_products_are_fp32_and_no_tf32():
    a, b = operands()
    check("fp32", a @ b, a, b)
    with pytest.raises(
        Unsupported, match=r"tf32 has no effect here: products are off by \de-0[78]"
    ):
        check("tf32", a @ b, a, b)


def test_rounded_products_are_tf32_and_no_fp32():
    a, b = operands()
    product = tf32(a) @ tf32(b)
    check("tf32", product, a, b)
    with pytest.raises(Unsupported, match="not IEEE single precision; unset variables"):
        check("fp32", product, a, b)


def test_another_product_is_neither():
    a, b = operands()
    with pytest.raises(Unsupported, match="not IEEE single precision"):
        check("fp32", np.zeros_like(a), a, b)
