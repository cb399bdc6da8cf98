"""Control groups of both versions."""

from __future__ import annotations

import pytest

from mbench.machine import cgroup


def test_nothing_limits_where_there_are_no_groups(root):
    assert cgroup.cpu_limit() is None
    assert cgroup.throttled_seconds() is None


def test_version_2_the_tightest_group_counts(write):
    write("cgroup", "0::/outer/inner")
    write("groups/cpu.stat", "usage_usec 5")
    write("groups/outer/inner/cpu.max", "max 100000")
    assert cgroup.cpu_limit() is None
    write("groups/outer/cpu.max", "150000 100000")
    assert cgroup.cpu_limit() == 1.5
    write("groups/outer/inner/cpu.max", "400000 100000")
    assert cgroup.cpu_limit() == 1.5


def test_version_1_has_other_names_and_folders(write):
    write("cgroup", "4:memory:/box\n1:cpu,cpuacct:/box\n0::/")
    write("groups/memory/box/x", "")
    write("groups/cpu/box/cpu.cfs_quota_us", "-1")
    write("groups/cpu/box/cpu.cfs_period_us", "100000")
    assert cgroup.cpu_limit() is None
    write("groups/cpu/box/cpu.cfs_quota_us", "50000")
    assert cgroup.cpu_limit() == 0.5


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
    assert cgroup.throttled_seconds() == 2.5
