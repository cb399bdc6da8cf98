"""Limits of open files, where many ranks come."""

from __future__ import annotations

import resource

import pytest

from mbench.engine import descriptors
from mbench.engine.descriptors import OF_LOCAL, OF_REMOTE, allow
from mbench.errors import MbenchError


@pytest.fixture
def limits(monkeypatch):
    """A process with limits of its own, as [soft, hard]; None where they are not set."""
    found = [1024, 4096]
    monkeypatch.setattr(resource, "getrlimit", lambda what: tuple(found))

    def setrlimit(what, wanted):
        assert what == resource.RLIMIT_NOFILE
        found[:] = wanted

    monkeypatch.setattr(resource, "setrlimit", setrlimit)
    monkeypatch.setattr(descriptors.os, "listdir", lambda path: ["0"] * 100)
    return found


def test_few_ranks_leave_the_limit_alone(limits):
    allow(64, each=OF_LOCAL)
    assert limits == [1024, 4096]


def test_many_ranks_raise_the_soft_limit_as_far_as_they_need(limits):
    allow(1000, each=OF_REMOTE)
    assert limits == [100 + 1000 + descriptors.SPARE, 4096]


def test_more_than_is_allowed_is_told_in_one_line(limits):
    with pytest.raises(
        MbenchError, match="1000 more processes take about 10228 open files, and 40"
    ):
        allow(1000, each=OF_LOCAL)
    assert limits == [1024, 4096]


def test_no_limit_is_no_limit(limits):
    limits[:] = [1024, resource.RLIM_INFINITY]
    allow(10**6, each=OF_LOCAL)
    assert limits[0] > 10**7
    limits[:] = [resource.RLIM_INFINITY] * 2
    allow(10**9, each=OF_LOCAL)
    assert limits == [resource.RLIM_INFINITY] * 2
