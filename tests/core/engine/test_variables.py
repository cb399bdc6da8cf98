"""Which environment variables reach workers and may affect results."""

from __future__ import annotations

import os
from dataclasses import replace
from types import SimpleNamespace

import pytest

from mbench.contract.case import Case
from mbench.contract.tier import Tier
from mbench.engine.isolation import inherited_variables, thread_variables, worker_variables

CASE = Case(
    model="m", mode="train", batch_size=1, precision="fp32", tier="tuned", compiler="plain",
    device="cpu", threads=3, workload="none:none",
)  # fmt: skip


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    for name in list(os.environ):
        monkeypatch.delenv(name)


def adapter(*prefixes, own_tier=None, **own):
    tier = Tier(says="tuned", source="a guide", compilers=("plain",), variables=own_tier or {})
    return SimpleNamespace(
        tuned_by=prefixes,
        variables=lambda threads, device: own,
        tiers={"tuned": tier},
        compilers={"plain": ""},
    )


def test_what_tunes_shared_libraries_counts_for_every_framework(monkeypatch):
    monkeypatch.setenv("LD_PRELOAD", "liballoc.so")
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")
    monkeypatch.setenv("HOME", "/root")
    for name in ("DATABASE_PASSWORD", "NVIDIA_API_KEY"):
        monkeypatch.setenv(name, "secret")
    assert inherited_variables([adapter()]) == {
        "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
        "LD_PRELOAD": "liballoc.so",
    }


def test_a_frameworks_own_count_where_it_takes_part(monkeypatch):
    monkeypatch.setenv("FAST_MATH", "1")
    assert inherited_variables([adapter("SLOW_")]) == {}
    assert inherited_variables([adapter("SLOW_"), adapter("FAST_")]) == {"FAST_MATH": "1"}


def test_a_whole_name_fits_no_other(monkeypatch):
    for name in ("JIT", "JITTER", "XJIT"):
        monkeypatch.setenv(name, "2")
    assert inherited_variables([adapter("JIT=")]) == {"JIT": "2"}


def test_threads_are_not_what_the_surroundings_say(monkeypatch):
    for name in thread_variables(1):
        monkeypatch.setenv(name, "7")
    assert inherited_variables([adapter()]) == {}
    assert worker_variables(adapter(), CASE) == thread_variables(3)


def test_what_the_user_sets_wins_over_adapter_and_tier(monkeypatch):
    fast = adapter("FAST_", own_tier={"TIER": "1", "TIER_OWN": "1"}, FAST_OWN="1", FAST_TOO="1")
    asked = {"TIER": "1", "TIER_OWN": "1", "FAST_OWN": "1", "FAST_TOO": "1"}
    assert worker_variables(fast, CASE) == {**thread_variables(3), **asked}
    assert inherited_variables([fast]) == {}
    monkeypatch.setenv("FAST_OWN", "0")
    monkeypatch.setenv("TIER_OWN", "")
    left = {"TIER": "1", "FAST_TOO": "1"}
    assert worker_variables(fast, CASE) == {**thread_variables(3), **left}
    assert inherited_variables([fast]) == {"FAST_OWN": "0", "TIER_OWN": ""}


def test_variables_of_a_tier_are_for_its_cases():
    tuned = adapter(own_tier={"TIER": "1"})
    assert worker_variables(tuned, replace(CASE, tier="best"))["TIER"] == "1"
    assert "TIER" not in worker_variables(tuned, replace(CASE, tier="default"))
