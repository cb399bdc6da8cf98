"""The regions of adaptive pooling are PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

from mbench.sdk.regions import shares


@pytest.mark.parametrize(
    ("pixels", "count", "regions"),
    [
        (4, 2, [(0, 2), (2, 4)]),
        (5, 2, [(0, 3), (2, 5)]),  # the third pixel is in both
        (7, 3, [(0, 3), (2, 5), (4, 7)]),
        (2, 3, [(0, 1), (0, 2), (1, 2)]),  # more regions than pixels
        (6, 6, [(at, at + 1) for at in range(6)]),
    ],
)
def test_regions_begin_and_end_where_pytorchs_do(pixels, count, regions):
    found = shares(pixels, count)
    assert found.shape == (count, pixels)
    for row, (begin, end) in zip(found, regions, strict=True):
        assert np.array_equal(np.flatnonzero(row), np.arange(begin, end))
        assert np.allclose(row[begin:end], 1 / (end - begin))
