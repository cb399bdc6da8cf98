"""Which variables of the surroundings reach workers and count."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from mbench.engine.variables import inherited, thread_variables


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    for name in list(os.environ):
        monkeypatch.delenv(name)


def adapter(*prefixes, **own):
    return SimpleNamespace(tuned_by=prefixes, variables=lambda threads, device: own)


def test_what_tunes_shared_libraries_counts_for_every_framework(monkeypatch):
    monkeypatch.setenv("LD_PRELOAD", "liballoc.so")
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")
    monkeypatch.setenv("HOME", "/root")
    for name in ("DATABASE_PASSWORD", "NVIDIA_API_KEY"):
        monkeypatch.setenv(name, "secret")
    assert inherited([adapter()], device="cpu") == {
        "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
        "LD_PRELOAD": "liballoc.so",
    }


def test_a_frameworks_own_count_where_it_takes_part(monkeypatch):
    monkeypatch.setenv("FAST_MATH", "1")
    assert inherited([adapter("SLOW_")], device="cpu") == {}
    assert inherited([adapter("SLOW_"), adapter("FAST_")], device="cpu") == {"FAST_MATH": "1"}


def test_what_mbench_sets_itself_does_not_reach_workers(monkeypatch):
    for name in thread_variables(1):
        monkeypatch.setenv(name, "7")
    monkeypatch.setenv("FAST_OWN", "0")
    assert inherited([adapter("FAST_", FAST_OWN="1")], device="cpu") == {}
