"""Workers whose memory lies alike in every process."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from cases import make_case

from mbench.engine import steady
from mbench.engine.launch import launch
from mbench.engine.outcome import CaseEnded
from mbench.engine.steady import ADDR_NO_RANDOMIZE, fixed_addresses, lack, variables

allowed = pytest.mark.skipif(
    "addresses" in lack(), reason="this machine does not let addresses be fixed"
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
    with fixed_addresses():
        assert persona() & ADDR_NO_RANDOMIZE
    assert not persona() & ADDR_NO_RANDOMIZE
    with pytest.raises(ValueError, match="as it may"), fixed_addresses():
        raise ValueError("as it may")
    assert not persona() & ADDR_NO_RANDOMIZE


def test_where_addresses_cannot_be_fixed_the_reason_is_one_line(monkeypatch):
    monkeypatch.setattr(platform, "libc_ver", lambda: ("glibc", "2.36"))
    monkeypatch.setattr(steady, "read", lambda path: "always [madvise] never")
    refusing = SimpleNamespace(personality=lambda asked: 0 if asked == steady.ASK else -1)
    monkeypatch.setattr(steady.ctypes, "CDLL", lambda *_, **__: refusing)
    monkeypatch.setattr(steady.ctypes, "get_errno", lambda: 1)
    assert lack() == (
        "addresses cannot be fixed here: Operation not permitted; in a container, give it "
        "--security-opt seccomp=unconfined"
    )


@pytest.mark.parametrize(
    ("libc", "pages", "said"),
    [
        (("glibc", "2.34"), "[madvise]", "glibc 2.35 or newer, and this is glibc 2.34"),
        (("", ""), "[madvise]", "2.35 or newer, and this is another C library"),
        (("glibc", "2.36"), "always madvise [never]", "are off: echo madvise | sudo tee /sys/"),
        (("glibc", "2.36"), None, "transparent huge pages are off"),
    ],
)
def test_a_machine_without_huge_pages_for_malloc(monkeypatch, libc, pages, said):
    monkeypatch.setattr(platform, "libc_ver", lambda: libc)
    monkeypatch.setattr(steady, "read", lambda path: pages)
    assert said in lack()


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("OMP_PROC_BIND", "false", {"GLIBC_TUNABLES": TUNABLES, "OMP_PLACES": "cores"}),
        ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=0:glibc.malloc.perturb=1",
         {"GLIBC_TUNABLES": TUNABLES.replace("hugetlb=1", "hugetlb=0")
          + ":glibc.malloc.perturb=1", "OMP_PROC_BIND": "true", "OMP_PLACES": "cores"}),
    ],
)  # fmt: skip
def test_what_the_user_has_set_stays(monkeypatch, name, value, expected):
    for known in ("GLIBC_TUNABLES", "OMP_PROC_BIND", "OMP_PLACES"):
        monkeypatch.delenv(known, raising=False)
    monkeypatch.setenv(name, value)
    assert variables() == expected


@pytest.mark.parametrize("steadiness", ["usual", "steady"])
def test_a_steady_case_is_started_so(plugins, tmp_path, steadiness):
    started = []

    def launcher(program, places):
        started.append(program)
        raise CaseEnded("failed", "far enough")

    environment = SimpleNamespace(python=Path(sys.executable), variables=dict, mend=str)
    case = make_case(workload="mbench_tiny:WORKLOAD", steadiness=steadiness)
    with pytest.raises(CaseEnded, match="far enough"):
        launch(plugins.adapter("tiny"), environment, case, log=tmp_path / "log", timeout=1.0,
               launcher=launcher)  # fmt: skip
    (program,) = started
    assert program.fixed_addresses is (steadiness == "steady")
    assert ("hugetlb=1" in program.variables.get("GLIBC_TUNABLES", "")) is program.fixed_addresses
