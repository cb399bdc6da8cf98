"""How many threads suit a machine, by its cores and by what restricts them."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from mbench.machine import kernel
from mbench.machine.cores import default_threads, hardware_threads, performance_cores, usable_cores


@pytest.fixture
def processor(write, monkeypatch):
    """Makes a processor of `physical` cores whose hardware threads are numbered as on Linux: first
    one of each core, then their siblings. This process may use those of `affinity`.
    """

    def processor(physical, *, siblings=1, affinity=None, capacity=None):
        logical = physical * siblings
        for one in range(logical):
            beside = range(one % physical, logical, physical)
            write(f"cpus/cpu{one}/topology/thread_siblings_list", ",".join(map(str, beside)))
            if capacity:
                write(f"cpus/cpu{one}/cpu_capacity", capacity[one])
        monkeypatch.setattr(psutil, "cpu_count", lambda logical=True: physical * siblings
                            if logical else physical)  # fmt: skip
        allowed = set(range(logical) if affinity is None else affinity)
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: allowed, raising=False)

    return processor


@pytest.fixture
def quota(write):
    def quota(cpus):
        write("cgroup", "0::/box")
        write("groups/box/cpu.max", f"{round(cpus * 100000)} 100000")

    return quota


def decided():
    found = default_threads({})
    return found.count, found.because


def test_all_cores_of_a_plain_machine(processor):
    processor(16)
    assert decided() == (16, "all 16 cores of the machine")
    assert (usable_cores(), hardware_threads()) == (16, 16)


def test_hardware_threads_of_one_core_are_one_core(processor):
    processor(16, siblings=2)
    assert decided() == (16, "the physical cores, of 32 hardware threads")
    assert (usable_cores(), hardware_threads()) == (16, 32)


@pytest.mark.parametrize(
    ("affinity", "count", "bound"),
    [({0, 16}, 1, "2 hardware threads"), ({3}, 1, "1 hardware thread"),
     ({0, 1, 16, 17}, 2, "4 hardware threads"), ({0, 1, 18}, 3, "3 hardware threads")],
)  # fmt: skip
def test_affinity_is_counted_in_physical_cores(processor, affinity, count, bound):
    processor(16, siblings=2, affinity=affinity)
    assert decided() == (count, f"this process is bound to {bound}, of 16 cores")
    assert (usable_cores(), hardware_threads()) == (count, len(affinity))


def test_who_bound_this_process_is_named(processor):
    processor(8, affinity={0})
    because = default_threads({"OMPI_COMM_WORLD_RANK": "0"}).because
    assert because == "this process is bound to 1 hardware thread, set by mpirun, of 8 cores"


@pytest.mark.parametrize(
    ("cpus", "count", "said"),
    [(2, 2, "2 CPUs"), (7.65, 7, "7.65 CPUs"), (0.5, 1, "0.5 CPUs"), (1, 1, "1 CPU")],
)
def test_a_quota_is_rounded_down(processor, quota, cpus, count, said):
    processor(16, siblings=2)
    quota(cpus)
    assert decided() == (count, f"the cgroup's quota of {said}, of 16 cores")
    assert hardware_threads() == count
    assert usable_cores() == 16


def test_a_quota_above_the_cores_decides_nothing(processor, quota):
    processor(4)
    quota(4)
    assert decided() == (4, "all 4 cores of the machine")
    quota(64)
    assert decided() == (4, "all 4 cores of the machine")


def test_a_quota_of_version_1(processor, write):
    processor(16)
    write("cgroup", "3:cpu,cpuacct:/box")
    write("groups/cpu,cpuacct/x", "")
    write("groups/cpu/box/cpu.cfs_quota_us", "200000")
    write("groups/cpu/box/cpu.cfs_period_us", "100000")
    assert decided() == (2, "the cgroup's quota of 2 CPUs, of 16 cores")


def test_the_stricter_of_quota_and_affinity_decides(processor, quota):
    processor(16, affinity={0, 1})
    quota(4)
    assert decided() == (2, "this process is bound to 2 hardware threads, of 16 cores")
    quota(1.5)
    assert decided() == (1, "the cgroup's quota of 1.5 CPUs, of 16 cores")


def test_performance_cores_alone(processor, write):
    """As on an Intel processor with 8 cores of two hardware threads each, and 8 of one."""
    processor(24)
    for core in range(8):
        write(f"cpus/cpu{core}/topology/thread_siblings_list", f"{core},{core + 8}")
        write(f"cpus/cpu{core + 8}/topology/thread_siblings_list", f"{core},{core + 8}")
    write("devices/cpu_core/cpus", "0-15")
    write("devices/cpu_atom/cpus", "16-23")
    assert usable_cores() == 16
    assert decided() == (8, "the performance cores, of 24 cores")


def test_efficiency_cores_alone_are_all_that_there_is(processor, write):
    processor(24, affinity=range(16, 20))
    write("devices/cpu_core/cpus", "0-15")
    write("devices/cpu_atom/cpus", "16-23")
    assert decided() == (4, "this process is bound to 4 hardware threads, of 24 cores")


@pytest.mark.parametrize(
    ("capacity", "fast"),
    [([1024] * 4, [0, 1, 2, 3]), ([1024, 1024, 450, 450], [0, 1]),
     ([1024, 1010, 990, 400], [0, 1, 2]), ([250, 250, 250, 1024], [3])],
)  # fmt: skip
def test_cores_of_arm_are_told_apart_by_their_capacity(processor, capacity, fast):
    processor(4, capacity=capacity)
    assert performance_cores(range(4)) == fast
    assert default_threads({}).count == len(fast)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("0-3,8", {0, 1, 2, 3, 8}), ("5", {5}), ("", set()), ("x-y", set()), ("0-", {0})],
)
def test_lists_of_the_kernel(text, numbers):
    assert kernel.listed(text) == numbers


def test_without_topology_the_numbers_of_the_system_count(root, monkeypatch):
    monkeypatch.setattr(psutil, "cpu_count", lambda logical=True: 8 if logical else 4)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert usable_cores() == 4
    monkeypatch.setattr(psutil, "cpu_count", lambda logical=True: 8 if logical else None)
    assert usable_cores() == 8


def limited(group: Path, cpus: float) -> None:
    """Give a new control group of either version this quota."""
    if (group.parent / "cpu.cfs_quota_us").exists():
        (group / "cpu.cfs_quota_us").write_text(str(round(cpus * 100000)))
    else:
        (group / "cpu.max").write_text(f"{round(cpus * 100000)} 100000")


@pytest.fixture
def group():
    """A control group for one test, which is skipped if no group may be created here."""
    mount = Path("/sys/fs/cgroup")
    root = mount / "cpu" if (mount / "cpu").is_dir() else mount
    made = root / f"mbench-test-{os.getpid()}"
    try:
        made.mkdir()
        limited(made, 1.5)
    except OSError as error:
        with contextlib.suppress(OSError):
            made.rmdir()
        pytest.skip(f"no control group may be made here: {error}")
    yield made
    made.rmdir()


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core cannot be restricted")
def test_a_real_quota(group):
    """The process is in a real control group, such as `docker run --cpus=1.5` creates."""
    code = (
        f"import os; open({str(group / 'cgroup.procs')!r}, 'w').write(str(os.getpid()));"
        "from mbench.machine.cores import default_threads; print(*vars(default_threads()).values())"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.startswith("1 the cgroup's quota of 1.5 CPUs, of ")
