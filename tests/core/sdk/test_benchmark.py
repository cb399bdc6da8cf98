"""How many batches lie on the device."""

from __future__ import annotations

import pytest

from mbench.sdk.benchmark import batch_count


@pytest.mark.parametrize(
    ("bytes_each", "count"), [(0, 8), (10**6, 8), (2**27, 8), (2**28, 4), (2**29, 2), (2**40, 2)]
)
def test_large_batches_are_fewer(bytes_each, count):
    assert batch_count(bytes_each) == count
