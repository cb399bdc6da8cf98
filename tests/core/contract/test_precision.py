"""The properties of each precision come from one table."""

from __future__ import annotations

import pytest

from mbench.contract.precision import PRECISIONS


def test_what_is_mixed_what_scales_and_what_is_half():
    assert [p.name for p in PRECISIONS.values() if p.mixed] == ["amp-bf16", "amp-fp16"]
    assert [p.name for p in PRECISIONS.values() if p.scales_loss] == ["amp-fp16"]
    assert [p.name for p in PRECISIONS.values() if not p.half] == ["fp32", "fp64", "tf32", "int8"]
    assert [p.name for p in PRECISIONS.values() if p.quantized] == ["int8"]


@pytest.mark.parametrize(
    ("name", "size"),
    [("fp32", 4), ("fp64", 8), ("tf32", 4), ("amp-bf16", 4), ("bf16", 2), ("fp16", 2), ("int8", 4)],
)
def test_the_size_of_a_parameter(name, size):
    assert PRECISIONS[name].parameter_bytes == size
