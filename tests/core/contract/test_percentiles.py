"""Percentiles, compared with NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from mbench.contract.metric import percentile


@pytest.mark.parametrize(("rank", "fewest"), [(50, 2), (90, 10), (95, 20), (99, 100), (99.9, 1000)])
def test_percentiles_from_the_smallest_sample_that_supports_them(rank, fewest):
    assert percentile(range(1, fewest), rank) is None
    assert percentile(range(1, fewest + 1), rank) == fewest - 1
    assert percentile(range(fewest, 0, -1), rank) == fewest - 1
    assert percentile(range(1, 10 * fewest + 1), rank) == 10 * (fewest - 1)


@pytest.mark.parametrize("count", [20, 37, 100, 101, 999, 1000, 1003, 4096])
def test_percentiles_are_nearest_rank(count):
    values = list(np.random.default_rng(count).permutation(count))
    for rank in (50, 90, 95):
        expected = np.percentile(values, rank, method="inverted_cdf")
        assert percentile(values, rank) == expected


def test_no_values_no_percentile():
    assert percentile([], 50) is None
