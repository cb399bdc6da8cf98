"""The kernel's files, as several machines have them, and this machine's own."""

from __future__ import annotations

import mmap
import os
import sys
from collections import namedtuple

import psutil
import pytest

from mbench.machine import kernel

Times = namedtuple("Times", "user nice system idle iowait irq softirq steal guest guest_nice")


def test_busy_is_all_but_idleness_waiting_and_what_was_stolen(monkeypatch):
    cores = [Times(1, 2, 4, 1000, 1000, 8, 16, 0.5, 1, 2), Times(*[100] * 10)]
    monkeypatch.setattr(psutil, "cpu_times", lambda percpu: cores)
    assert kernel.core_seconds([0]) == (31, 0.5)
    assert kernel.core_seconds([0, 1]) == (531, 100.5)
    assert kernel.core_seconds([0, 7]) == (31, 0.5), "a core that is switched off"


def test_cores_keep_their_numbers_if_one_between_them_is_switched_off(monkeypatch, write):
    """psutil lists those that are switched on, without their numbers."""
    write("cpus/online", "0,2,4")
    monkeypatch.setattr(
        psutil, "cpu_times", lambda percpu: [Times(one, *[0] * 9) for one in (1, 10, 100)]
    )
    assert kernel.core_seconds([0, 2, 4]) == (111, 0)
    assert kernel.core_seconds([2]) == (10, 0)
    assert kernel.core_seconds([1]) == (0, 0)


def test_a_process_may_use_the_cores_that_it_is_bound_to():
    pid = os.getpid()
    assert kernel.cores_of(pid) == sorted(os.sched_getaffinity(0))
    assert kernel.cores_of(2**22 + 1) == list(range(os.cpu_count()))


def test_pressure_is_the_time_that_some_waited(write):
    write("pressure/cpu", "some avg10=1.0 avg60=2.0 avg300=3.0 total=2500000\nfull total=7")
    assert kernel.stalled_seconds("cpu") == 2.5
    assert kernel.stalled_seconds("memory") is None


def test_swapping_is_in_and_out_together(write):
    assert kernel.swapped_bytes() is None
    write("vmstat", "pgpgin 99\npswpin 3\npswpout 4\npgfault 5")
    assert kernel.swapped_bytes() == 7 * os.sysconf("SC_PAGE_SIZE")


def test_the_clock_is_the_governors_or_else_the_processors(write):
    assert kernel.clock_mhz([0]) is None
    write("cpuinfo", "processor\t: 0\ncpu MHz\t\t: 1000.5\nflags: x\n\n"
                     "processor\t: 1\ncpu MHz\t\t: 2000.5\n")  # fmt: skip
    assert kernel.clock_mhz([0, 1]) == 1500.5
    assert kernel.clock_mhz([1]) == 2000.5
    write("cpus/cpu0/cpufreq/scaling_cur_freq", 3_000_000)
    assert kernel.clock_mhz([0, 1]) == 3000.0


@pytest.mark.parametrize("name", ["package-0", "psys"])
def test_energy_is_that_of_the_packages_and_begins_anew_when_it_is_full(write, name):
    for package, label in ((0, name), (1, "package-1")):
        write(f"powercap/intel-rapl:{package}/name", label)
        write(f"powercap/intel-rapl:{package}/energy_uj", 900_000)
        write(f"powercap/intel-rapl:{package}/max_energy_range_uj", 1_000_000)
    write("powercap/intel-rapl:0:0/name", "package-core")
    write("powercap/intel-rapl:0:0/energy_uj", 5)
    joules = kernel.Joules()
    assert joules() == 0
    write("powercap/intel-rapl:0/energy_uj", 950_000)
    write("powercap/intel-rapl:0:0/energy_uj", 500_000_000)
    of_first = 0.05 if name.startswith("package") else 0.0
    assert joules() == pytest.approx(of_first)
    write("powercap/intel-rapl:1/energy_uj", 100_000)
    assert joules() == pytest.approx(of_first + 0.2)


def test_there_is_no_energy_where_it_may_not_be_read(write):
    assert kernel.Joules()() is None
    write("powercap/intel-rapl:0/name", "package-0")
    assert kernel.Joules()() is None


@pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's own files")
def test_memory_that_is_touched_for_the_first_time_faults():
    before = kernel.page_faults([os.getpid()])
    pages = 300
    with mmap.mmap(-1, pages * mmap.PAGESIZE) as fresh:
        fresh.madvise(mmap.MADV_NOHUGEPAGE)
        for page in range(pages):
            fresh[page * mmap.PAGESIZE] = 1
        assert pages <= kernel.page_faults([os.getpid()]) - before < 2 * pages
    assert kernel.page_faults([2**22 + 1]) is None


@pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's own files")
def test_this_machine_can_be_read():
    busy, stolen = kernel.core_seconds(kernel.cores_of(os.getpid()))
    assert busy > 1
    assert stolen >= 0
    assert kernel.swapped_bytes() >= 0
