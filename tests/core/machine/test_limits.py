"""Limits by control groups of both versions."""

from __future__ import annotations

import psutil
import pytest

from mbench.machine import limits


def test_nothing_limits_where_there_are_no_groups(root):
    assert limits.cpu_limit() is None
    assert limits.throttled_seconds() is None


def test_version_2_the_tightest_group_counts(write):
    write("cgroup", "0::/outer/inner")
    write("groups/cpu.stat", "usage_usec 5")
    write("groups/outer/inner/cpu.max", "max 100000")
    assert limits.cpu_limit() is None
    write("groups/outer/cpu.max", "150000 100000")
    assert limits.cpu_limit() == 1.5
    write("groups/outer/inner/cpu.max", "400000 100000")
    assert limits.cpu_limit() == 1.5


def test_version_1_has_other_names_and_folders(write):
    write("cgroup", "4:memory:/box\n1:cpu,cpuacct:/box\n0::/")
    write("groups/memory/box/x", "")
    write("groups/cpu/box/cpu.cfs_quota_us", "-1")
    write("groups/cpu/box/cpu.cfs_period_us", "100000")
    assert limits.cpu_limit() is None
    write("groups/cpu/box/cpu.cfs_quota_us", "50000")
    assert limits.cpu_limit() == 0.5


@pytest.mark.parametrize(
    ("name", "group", "text"),
    [
        ("0::/box", "groups/box", "usage_usec 9\nthrottled_usec 2500000"),
        ("1:cpu:/box", "groups/cpu/box", "nr_throttled 3\nthrottled_time 2500000000"),
    ],
)
def test_time_under_a_limit_is_in_seconds(write, name, group, text):
    write("cgroup", name)
    write(f"{group}/cpu.stat", text)
    assert limits.throttled_seconds() == 2.5


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"memory.max": "1000", "memory.current": "700", "memory.stat": "inactive_file 50"}, 350),
        ({"memory.max": "max", "memory.current": "700"}, None),
        (
            {"memory.limit_in_bytes": "900", "memory.usage_in_bytes": "100",
             "memory.stat": "cache 1\ntotal_inactive_file 7"},
            807,
        ),
        ({"memory.max": "10", "memory.current": "700"}, 0),
        ({}, None),
    ],
)  # fmt: skip
def test_the_limit_of_memory_counts(tmp_path, monkeypatch, files, expected):
    for name, text in files.items():
        (tmp_path / name).write_text(text + "\n")
    monkeypatch.setattr(limits, "folders", lambda controller: [tmp_path])
    free = psutil.virtual_memory().available
    found = limits.available_bytes()
    assert found == expected if expected is not None else abs(found - free) < 2**31
