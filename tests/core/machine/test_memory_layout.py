"""Steady workers: memory is laid out the same way in every process."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from cases import make_case

from mbench.engine.launch import launch
from mbench.engine.outcome import CaseEnded
from mbench.machine import kernel, memory_layout
from mbench.machine.memory_layout import (
    ADDR_NO_RANDOMIZE,
    cores_for,
    limitation,
    steadily,
    variables,
)

allowed = pytest.mark.skipif(
    "addresses" in limitation(), reason="this machine does not let addresses be fixed"
)
TUNABLES = (
    "glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=4294967296:"
    "glibc.malloc.trim_threshold=68719476736"
)


def persona():
    code = "print(open('/proc/self/personality').read())"
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    return int(made.stdout, 16)


@allowed
def test_what_is_started_within_has_fixed_addresses_and_nothing_else_has():
    with steadily(1):
        assert persona() & ADDR_NO_RANDOMIZE
    assert not persona() & ADDR_NO_RANDOMIZE
    with pytest.raises(ValueError, match="as it may"), steadily(1):
        raise ValueError("as it may")
    assert not persona() & ADDR_NO_RANDOMIZE


def test_where_addresses_cannot_be_fixed_the_reason_is_one_line(monkeypatch):
    monkeypatch.setattr(platform, "libc_ver", lambda: ("glibc", "2.36"))
    monkeypatch.setattr(memory_layout, "read", lambda path: "always [madvise] never")
    refusing = SimpleNamespace(personality=lambda asked: 0 if asked == memory_layout.ASK else -1)
    monkeypatch.setattr(memory_layout.ctypes, "CDLL", lambda *_, **__: refusing)
    monkeypatch.setattr(memory_layout.ctypes, "get_errno", lambda: 1)
    assert limitation() == (
        "addresses cannot be fixed here: Operation not permitted; run a container with "
        "--security-opt seccomp=unconfined"
    )


@pytest.mark.parametrize(
    ("libc", "pages", "said"),
    [
        (("glibc", "2.34"), "[madvise]", "glibc 2.35 or newer, but this is glibc 2.34"),
        (("", ""), "[madvise]", "2.35 or newer, but this is another C library"),
        (("glibc", "2.36"), "always madvise [never]", "are off: echo madvise | sudo tee /sys/"),
        (("glibc", "2.36"), None, "transparent huge pages are off"),
    ],
)
def test_a_machine_without_huge_pages_for_malloc(monkeypatch, libc, pages, said):
    monkeypatch.setattr(platform, "libc_ver", lambda: libc)
    monkeypatch.setattr(memory_layout, "read", lambda path: pages)
    assert said in limitation()


def test_what_the_user_has_set_stays(monkeypatch):
    monkeypatch.delenv("GLIBC_TUNABLES", raising=False)
    assert variables() == {"GLIBC_TUNABLES": TUNABLES}
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=0:glibc.malloc.perturb=1")
    theirs = f"{TUNABLES.replace('hugetlb=1', 'hugetlb=0')}:glibc.malloc.perturb=1"
    assert variables() == {"GLIBC_TUNABLES": theirs}


@allowed
def test_what_is_started_within_has_a_core_for_each_thread():
    usable = os.sched_getaffinity(0)
    code = "import os; print(len(os.sched_getaffinity(0)))"
    with steadily(1):
        made = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert int(made.stdout) == 1
    assert os.sched_getaffinity(0) == usable


@pytest.mark.parametrize(
    ("threads", "cores"), [(1, {0}), (2, {0, 1}), (3, {0, 1, 4}), (9, {0, 1, 4, 5})]
)
def test_hardware_threads_of_a_core_are_shared_last(monkeypatch, tmp_path, threads, cores):
    monkeypatch.setattr(kernel, "CPUS", tmp_path)
    for core in (0, 1, 4, 5):
        file = tmp_path / f"cpu{core}" / "topology" / "thread_siblings_list"
        file.parent.mkdir(parents=True)
        file.write_text(f"{core % 4},{core % 4 + 4}\n")
    assert cores_for(threads, [5, 4, 1, 0]) == cores


@pytest.mark.parametrize("steadiness", ["usual", "steady"])
def test_a_steady_case_is_started_so(plugins, tmp_path, steadiness):
    started = []

    def launcher(program, places):
        started.append(program)
        raise CaseEnded("failed", "far enough")

    environment = SimpleNamespace(python=Path(sys.executable), variables=dict, hint=str)
    case = make_case(workload="mbench_tiny:WORKLOAD", steadiness=steadiness)
    with pytest.raises(CaseEnded, match="far enough"):
        launch(plugins.adapter("tiny"), environment, case, log=tmp_path / "log", timeout=1.0,
               launcher=launcher)  # fmt: skip
    (program,) = started
    assert bool(program.steady_threads) is (steadiness == "steady")
    assert ("hugetlb=1" in program.variables.get("GLIBC_TUNABLES", "")) is bool(
        program.steady_threads
    )
