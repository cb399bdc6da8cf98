"""Workers look at themselves from inside: at what slows them down, and what was asked in vain."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="by /proc")
COMPILER = pytest.mark.skipif(shutil.which("cc") is None, reason="makes a shared library")

FAULTS = {
    "trace function": "import sys; sys.settrace(lambda *_: None)",
    "profile function": "import sys; sys.setprofile(lambda *_: None)",
    "interval timer": (
        "import signal; signal.signal(signal.SIGPROF, signal.SIG_IGN);"
        "signal.setitimer(signal.ITIMER_PROF, 0.01, 0.01)"
    ),
    "garbage collector's debug flags": "import gc; gc.set_debug(gc.DEBUG_UNCOLLECTABLE)",
    "switch interval": "import sys; sys.setswitchinterval(1e-6)",
    "changed clock": (
        "import time; real = time.perf_counter_ns; time.perf_counter_ns = lambda: real() // 2"
    ),
    "debugger": "import ctypes; ctypes.CDLL(None).ptrace(0, 0, 0, 0)",
}
"""What may run unseen at the start of a worker's Python, by the name under which it is reported.
The debugger's code is PTRACE_TRACEME: the parent traces the process.
"""


def at_the_start(around, codes):
    """Make workers run the code that their variable FAULT names, in a sitecustomize."""
    (around.site / "sitecustomize.py").write_text(
        f"import os\nexec({codes!r}.get(os.environ.get('FAULT'), ''))\n"
    )


def states(done):
    """What the worker of each case reported about itself, by case."""
    return {e["case"]: e for e in done.events if e["event"] == "worker_state"}


@pytest.mark.parametrize(
    ("variable", "value", "switch"),
    [
        ("PYTHONTRACEMALLOC", "1", "tracemalloc"),
        ("PYTHONDEVMODE", "1", "development mode"),
        ("PYTHONMALLOC", "debug", "debug allocator"),
    ],
)
def test_a_debugging_aid_that_was_left_on_ends_each_case(around, variable, value, switch):
    """Row 3 of the table of faults, see test_table.py."""
    done = around.compare("tiny", "flaky", **{variable: value})
    assert (done.code, set(done.ends)) == (1, {"tiny", "flaky"})
    for outcome, reason in done.ends.values():
        assert outcome == "failed"
        assert reason == (
            f"{switch} slows its Python down ({variable}={value}): unset {variable}, or ask for it "
            f"in an arm (FRAMEWORK:{variable}={value})"
        )


def test_what_an_arm_asks_for_is_measured_and_recorded(around):
    done = around.compare("tiny", "tiny:PYTHONTRACEMALLOC=1:PYTHONOPTIMIZE=1")
    assert (done.code, done.ends) == (0, {})
    plain, asked = states(done)[0], states(done)[1]
    assert plain["slowing"] == {}
    assert asked["slowing"] == {"tracemalloc": "PYTHONTRACEMALLOC=1"}
    assert (plain["flags"].get("optimize"), asked["flags"]["optimize"]) == (None, 1)
    assert asked["boot_id"] == plain["boot_id"]
    assert asked["cores"] == plain["cores"] != ""


@LINUX
def test_what_runs_at_the_start_of_a_workers_python_is_seen(around):
    """Such code may be in a sitecustomize, or in a .pth file of a profiler."""
    at_the_start(around, FAULTS)
    done = around.compare("tiny", *(f"tiny:FAULT={fault}" for fault in FAULTS))
    assert done.code == 1
    reasons = {label.partition("=")[2]: reason for label, (_, reason) in done.ends.items()}
    assert set(reasons) == set(FAULTS)
    for fault, reason in reasons.items():
        assert reason.startswith(f"{fault} "), reason


def test_a_coverage_of_subprocesses_that_was_left_on_is_seen(around):
    """A .pth file starts coverage where COVERAGE_PROCESS_START is set."""
    at_the_start(around, {"traced": FAULTS["trace function"]})
    left = around.compare("tiny", "flaky", FAULT="traced", COVERAGE_PROCESS_START="/x")
    assert "trace function slows its Python down" in left.ends["tiny"][1]


def test_a_trace_that_an_arm_asks_for_is_measured(around):
    at_the_start(around, {"traced": FAULTS["trace function"]})
    done = around.compare("tiny", "tiny:FAULT=traced:COVERAGE_PROCESS_START=/x")
    assert (done.code, done.ends) == (0, {})
    assert list(states(done)[1]["slowing"]) == ["trace function"]


IN_VAIN = {
    "LD_PRELOAD=/nope/libjemalloc.so": "its LD_PRELOAD=/nope/libjemalloc.so was ignored",
    "LD_PRELOAD=libnope.so.2": "its LD_PRELOAD=libnope.so.2 was ignored",
    "LD_AUDIT=/nope/libaudit.so": "its LD_AUDIT=/nope/libaudit.so was ignored",
    "LD_LIBRARY_PATH=/nope/lib": "its LD_LIBRARY_PATH contains /nope/lib, which does not exist",
    "PYTHONPATH=/nope/python": "its PYTHONPATH contains /nope/python, which does not exist",
    "MALLOC_CONF=tcache=false": "its MALLOC_CONF has no effect: jemalloc reads it",
    "TCMALLOC_RELEASE_RATE=1": "its TCMALLOC_RELEASE_RATE has no effect: tcmalloc reads it",
}


@LINUX
def test_what_an_arm_asks_for_in_vain_ends_it_by_name(around):
    """Row 4 of the table of faults, see test_table.py."""
    done = around.compare("tiny", *(f"tiny:{setting}" for setting in IN_VAIN))
    assert done.code == 1
    ends = {label.removeprefix("tiny:"): end for label, end in done.ends.items()}
    assert set(ends) == set(IN_VAIN)
    for setting, said in IN_VAIN.items():
        assert ends[setting][0] == "failed"
        assert said in ends[setting][1]


@LINUX
def test_a_library_of_the_shell_that_is_not_there_ends_each_case(around):
    done = around.compare("tiny", "flaky", LD_PRELOAD="/nope/libtcmalloc.so")
    assert "its LD_PRELOAD=/nope/libtcmalloc.so was ignored" in done.ends["tiny"][1]


@LINUX
@COMPILER
def test_libraries_from_elsewhere_are_recorded_by_the_files_that_were_mapped(around):
    """One library is preloaded through a link; a folder has one that replaces the system's."""
    source, library = around.folder / "own.c", around.folder / "libown.so.1"
    source.write_text("int own(void) { return 1; }\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    link, folder = around.folder / "libown.so", around.folder / "other"
    link.symlink_to(library)
    folder.mkdir()
    maps = Path("/proc/self/maps").read_text().splitlines()
    libm = next(line.split()[-1] for line in maps if "/libm.so" in line)
    shutil.copy(libm, folder / "libm.so.6")
    done = around.compare("tiny", f"tiny:LD_PRELOAD={link}", f"tiny:LD_LIBRARY_PATH={folder}")
    assert (done.code, done.ends) == (0, {})
    plain, preloaded, replaced = (states(done)[case] for case in range(3))
    assert preloaded["preloaded"] == {f"LD_PRELOAD={link}": str(library)}
    assert preloaded["libraries"][str(library)].startswith(f"{library.stat().st_size} bytes")
    assert str(library) not in plain["libraries"]
    assert str(folder / "libm.so.6") in replaced["libraries"]


@LINUX
def test_niceness_limits_and_cores_of_a_worker_are_recorded(around):
    core = min(os.sched_getaffinity(0))
    code = (
        "import os, resource, sys\n"
        f"os.sched_setaffinity(0, {{{core}}})\n"
        "os.nice(5)\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (512, 512))\n"
        "os.execv(sys.executable, [sys.executable, '-m', 'mbench', *sys.argv[1:]])\n"
    )
    words = ["run", "tiny", "--models", "tiny-model", "--batch-size", "8", "--processes", "1",
             "--rounds", "1", "--block", "0.005", "--no-mfu", "--no-verify"]  # fmt: skip
    done = around.finish(around.popen([sys.executable, "-c", code, *words]))
    assert done.code == 0, done.err
    state = states(done)[0]
    assert f"nice {os.nice(0) + 5}" in state["scheduling"]
    assert state["limits"]["NOFILE"] == 512
    assert state["cores"] == str(core)


def test_a_safe_path_takes_no_folder_of_the_users_away(around):
    """PYTHONSAFEPATH leaves out the script's folder, which a worker removes otherwise."""
    (around.site / "of_the_user.py").write_text("")
    (around.site / "sitecustomize.py").write_text("import of_the_user\n")
    done = around.compare("tiny", "flaky", PYTHONSAFEPATH="1")
    assert (done.code, done.ends) == (0, {})
    assert states(done)[0]["packages"] == {}


def test_a_python_that_inspects_keeps_the_status_of_the_command(around):
    """Row 41 of the table of faults, see test_table.py."""
    done = around.compare("tiny", "tiny", PYTHONINSPECT="1")
    assert (done.code, done.ends) == (0, {})
    assert "Traceback" not in done.err
    assert ">>>" not in done.out + done.err
    refused = around.mbench("show", "no-such-run", PYTHONINSPECT="1")
    assert refused.code != 0
    assert "Traceback" not in refused.err
