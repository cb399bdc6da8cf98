"""Pauses: everything is stopped for a while, as by a container's pause, or one worker is."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from surroundings import eventually

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from surroundings import Done, Surroundings

FREEZER = Path("/sys/fs/cgroup/freezer")
UNIFIED = (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"))
LIMIT, LONGER = "5", 7.0
"""Seconds of --timeout, and of a pause."""
SLOW = ("compare", "tiny", "tiny", "--models", "tiny-model", "--batch-size", "8", "--processes",
        "1", "--no-mfu", "--budget", "9999", "--timeout", LIMIT)  # fmt: skip
MEASURING = (*SLOW, "--no-verify", "--rounds", "5", "--block", "0.5")


def all_of(process: subprocess.Popen[str]) -> list[int]:
    found = psutil.Process(process.pid)
    return [found.pid, *(child.pid for child in found.children(recursive=True))]


@contextmanager
def signals(process: subprocess.Popen[str]) -> Iterator[None]:
    """Stops all processes of a command, and continues them afterwards."""
    pids = all_of(process)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    yield
    for pid in pids:
        os.kill(pid, signal.SIGCONT)


@contextmanager
def frozen(process: subprocess.Popen[str], root: Path, file: str, *, on: str, off: str,
           ) -> Iterator[None]:  # fmt: skip
    """Stops all processes of a command by a control group."""
    group = root / f"mbench-test-{process.pid}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made in {root}: {error}")
    try:
        for pid in all_of(process):
            (group / "cgroup.procs").write_text(f"{pid}\n")
        (group / file).write_text(on)
        yield
    finally:
        (group / file).write_text(off)
        with suppress(OSError):  # processes may have ended or begun meanwhile
            for pid in (group / "cgroup.procs").read_text().split():
                (root / "cgroup.procs").write_text(pid)
            group.rmdir()


def freezer_1(process: subprocess.Popen[str]) -> AbstractContextManager[None]:
    """Stops processes as `docker pause` does with control groups of version 1."""
    return frozen(process, FREEZER, "freezer.state", on="FROZEN", off="THAWED")


def freezer_2(process: subprocess.Popen[str]) -> AbstractContextManager[None]:
    """Stops processes as it does with version 2, which may be mounted beside version 1."""
    root = next((one for one in UNIFIED if (one / "cgroup.controllers").exists()), UNIFIED[0])
    return frozen(process, root, "cgroup.freeze", on="1", off="0")


def lines(around: Surroundings) -> list[str]:
    files = [*around.results.glob("*/run.jsonl")]
    return files[0].read_text().splitlines() if files else []


def written(around: Surroundings, kind: str, count: int = 1) -> Callable[[], bool]:
    begin = f'{{"event":"{kind}"'
    return lambda: sum(line.startswith(begin) for line in lines(around)) >= count


def absences(done: Done) -> list[dict[str, Any]]:
    return [event for event in done.events if event["event"] == "absence"]


@pytest.mark.parametrize(
    ("when", "pause"),
    [("starting", signals), ("proving", signals), ("measuring", signals),
     ("measuring", freezer_1), ("measuring", freezer_2)],
)  # fmt: skip
def test_a_pause_longer_than_the_limit_is_survived_and_told(around, pause, when):
    """Row 1 of the table of faults, see test_table.py."""
    if when == "measuring":
        process = around.start(*MEASURING, "--rounds", "3", "--block", "0.25")
        eventually(written(around, "block", 2), "measuring")
    elif when == "proving":
        process = around.start(*SLOW, "--rounds", "1", "--block", "0.05")
        eventually(written(around, "environment", 2), "proving")
    else:
        process = around.start(*SLOW, "--no-verify", "--rounds", "1", "--block", "0.05")
        eventually(lambda: lines(around) and len(all_of(process)) > 1, "starting")
    with pause(process):
        time.sleep(LONGER)
    done = around.finish(process)
    assert done.code == 0, done.err
    assert not done.ends
    found = absences(done)
    longest = max(found, key=lambda one: one["seconds"])
    if when != "starting":  # a worker that is not known yet may report it first
        assert longest["what"] == "mbench"
    assert longest["seconds"] == pytest.approx(LONGER, abs=1.5)
    assert "warn  pauses" in done.out
    assert all(block["nanoseconds"][0] < LONGER / 2 * 1e9
               for block in done.events if block["event"] == "block")  # fmt: skip


def test_pauses_within_blocks_are_never_kept_as_time(around):
    """Row 2. Of several short pauses, most fall into a block, which is measured again."""
    process = around.start(*MEASURING)
    eventually(written(around, "block"), "measuring")
    for _ in range(4):
        pids = all_of(process)
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(1.5)
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        time.sleep(0.5)
    done = around.finish(process)
    assert done.code == 0, done.err
    found = [one for one in absences(done) if one["what"] == "mbench"]
    assert len(found) >= 4
    assert any(one["case"] is not None for one in found)
    blocks = [event for event in done.events if event["event"] == "block"]
    assert len(blocks) == 2 * 5
    assert "measured again" in done.out


def running_worker(around: Surroundings, process: subprocess.Popen[str]) -> int:
    """The process of a worker that has just begun a block of a second or more."""
    eventually(written(around, "block"), "measuring")
    began = len(lines(around))
    eventually(lambda: len(lines(around)) > began, "at the end of a block")

    def busy() -> int | None:
        for child in psutil.Process(process.pid).children():
            if "bootstrap.py" in " ".join(child.cmdline()) and child.status() == "running":
                used = sum(child.cpu_times()[:2])
                time.sleep(0.2)
                if sum(child.cpu_times()[:2]) > used + 0.02 and child.status() == "running":
                    return child.pid
        return None

    return eventually(busy, "in a block")


def test_a_worker_that_is_stopped_alone_is_measured_again(around):
    process = around.start(*MEASURING, "--block", "1.5", "--rounds", "3", "--timeout", "60")
    pid = running_worker(around, process)
    os.kill(pid, signal.SIGSTOP)
    threading.Timer(2.0, os.kill, (pid, signal.SIGCONT)).start()
    done = around.finish(process)
    assert done.code == 0, done.err
    (found,) = [one for one in absences(done) if one["what"] == "worker"]
    assert found["pid"] == pid
    assert found["seconds"] == pytest.approx(2.0, abs=1.0)
    assert "a worker was stopped for" in done.out


def test_a_worker_that_stays_stopped_is_said_to_be_so(around):
    process = around.start(*MEASURING, "--block", "1.5", "--rounds", "3")
    os.kill(running_worker(around, process), signal.SIGSTOP)
    done = around.finish(process)
    assert done.code == 1
    ((outcome, reason),) = done.ends.values()
    assert outcome == "timeout"
    assert reason.endswith("(its process is stopped, but not by mbench)")
