"""Nothing is left of a worker that is closed, or whose parent is gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from workers import PATIENCE, eventually, is_stopped, living, prepared

from mbench.contract import wire
from mbench.contract.adapter import FrameworkInfo
from mbench.engine import local, single


def test_ending_a_worker_does_not_wait_for_ever(start, monkeypatch):
    monkeypatch.setattr(local, "KILL_SECONDS", 0.2)
    worker = start()
    with monkeypatch.context() as deaf:
        deaf.setattr(worker._body, "signal", lambda number: None)
        deaf.setattr(single, "GOODBYE_SECONDS", 0.2)
        deaf.setattr(worker, "ask", lambda *arguments, **named: None)
        worker.close()
        assert worker.process.returncode is None


def test_closing_leaves_no_process_and_no_descriptor(with_child):
    before = psutil.Process().num_fds()
    worker, _ = with_child()
    worker._channel.receive(FrameworkInfo, seconds=PATIENCE)
    worker.close()
    assert worker.process.returncode == 0
    eventually(lambda: living(worker.process.pid) == [], "gone")
    assert psutil.Process().num_fds() == before
    worker.close()


def test_closing_a_stopped_worker(start):
    worker = prepared(start())
    worker.stop()
    worker.close()
    assert worker.process.returncode == 0


def test_closing_a_worker_that_does_not_listen(start, monkeypatch):
    monkeypatch.setattr(single, "GOODBYE_SECONDS", 0.2)
    worker = prepared(start(FLAKY="hang@1"))
    worker._channel.send(wire.TimeSteps(count=1), seconds=PATIENCE)
    worker.close()
    assert worker.process.returncode == -signal.SIGKILL


ORPHAN = """
import sys, time
from pathlib import Path
sys.path[:0] = {path!r}
from mbench.contract import wire
from mbench.contract.rank import SINGLE
from mbench.engine import local
from mbench.plugins.launcher import Program
program = Program(python=Path(sys.executable), modules=["mbench_tiny", "rogues"],
                  variables={{"CHILD": {child!r}}}, log=Path({log!r}), timeout_seconds=60)
worker = local.start(program, [SINGLE])
worker.start(wire.Start(runtime={runtime!r}, device="cpu", threads=1))
if {stopped!r}:
    worker.stop()
print(worker.process.pid, flush=True)
time.sleep(3600)
"""


@pytest.mark.parametrize("runtime", ["mbench_tiny:Runtime", "rogues:Parent"])
@pytest.mark.parametrize("stopped", [False, True], ids=["running", "stopped"])
def test_no_worker_outlives_a_killed_parent(tmp_path, runtime, stopped):
    script = ORPHAN.format(
        path=[str(Path(__file__).parent)],
        child=str(tmp_path / "child"),
        log=str(tmp_path / "log"),
        runtime=runtime,
        stopped=stopped,
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    with parent:
        number = int(parent.stdout.readline())
        try:
            assert number in living(number)
            assert len(living(number)) >= (2 if runtime == "rogues:Parent" else 1)
            if stopped:
                eventually(lambda: is_stopped(number), "stopped")
            parent.kill()
            parent.wait()
            eventually(lambda: living(number) == [], "gone")
        finally:
            parent.kill()
            if left := living(number):
                os.killpg(os.getpgid(left[0]), signal.SIGKILL)
