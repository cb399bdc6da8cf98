"""How processes of one case share a machine's cores."""

from __future__ import annotations

import os
import sys

import pytest

from mbench.contract.rank import SINGLE, RankInfo
from mbench.engine.isolation import cores_of, own_cores


def place(local_rank, local_ranks):
    return RankInfo(
        rank=local_rank, ranks=local_ranks, local_rank=local_rank, local_ranks=local_ranks
    )


def test_each_has_as_many_side_by_side():
    usable = range(10, 19)
    found = [cores_of(place(at, 4), usable) for at in range(4)]
    assert found == [{10, 11}, {12, 13}, {14, 15}, {16, 17}]


def test_where_there_are_too_few_some_share_one():
    assert [cores_of(place(at, 3), {4, 7}) for at in range(3)] == [{4}, {7}, {4}]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux binds processes to cores")
def test_only_what_is_started_within_is_bound():
    usable = os.sched_getaffinity(0)
    with own_cores(place(0, len(usable) + 1)):
        assert len(os.sched_getaffinity(0)) == 1
    assert os.sched_getaffinity(0) == usable
    with own_cores(SINGLE):
        assert os.sched_getaffinity(0) == usable
