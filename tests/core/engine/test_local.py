"""Real worker processes: what they answer, how they end, and that none outlives its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
from cases import make_case

from mbench.contract import wire
from mbench.contract.adapter import FrameworkInfo
from mbench.contract.place import ALONE
from mbench.engine import channel, local
from mbench.engine.local import LocalWorker
from mbench.engine.outcome import CaseEnded
from mbench.engine.program import Program

if TYPE_CHECKING:
    from collections.abc import Iterator

PYTHON = Path(sys.executable)
PATIENCE = 20.0
CASE = make_case()

Start = Callable[..., LocalWorker]


def framework(runtime: str = "mbench_tiny:FlakyRuntime") -> wire.Start:
    return wire.Start(runtime=runtime, device="cpu", threads=1)


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Starts workers, which do not outlive the test."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))  # of the rogues
    workers: list[LocalWorker] = []

    def start(*, python: Path = PYTHON, timeout: float = PATIENCE, **variables: str) -> LocalWorker:
        program = Program(
            python=python,
            modules=["mbench_tiny", "rogues"],
            variables=variables,
            log=tmp_path / "logs" / f"{len(workers)}.log",
            timeout_seconds=timeout,
        )
        worker = local.start(program, [ALONE])
        workers.append(worker)
        return worker

    yield start
    for worker in workers:
        worker.kill()


@pytest.fixture
def with_child(start: Start, tmp_path: Path) -> Callable[..., tuple[LocalWorker, int]]:
    """Starts a worker that has a child; gives both."""

    def with_child(runtime: str = "rogues:Parent") -> tuple[LocalWorker, int]:
        worker = start(CHILD=str(tmp_path / "child"))
        worker._channel.send(framework(runtime), seconds=PATIENCE)
        eventually((tmp_path / "child").exists, "a child")
        return worker, int((tmp_path / "child").read_text())

    return with_child


def prepared(worker: LocalWorker) -> LocalWorker:
    worker.start(framework())
    worker.prepare(CASE)
    return worker


def end_of(worker: LocalWorker, action: Callable[[], object]) -> CaseEnded:
    """How `action` ended the case; nothing of the worker may be left."""
    with pytest.raises(CaseEnded) as caught:
        action()
    assert caught.value.log == worker.log
    eventually(lambda: living(worker.process.pid) == [], "gone")
    return caught.value


def living(group: int) -> list[int]:
    """The processes of a group that still run or could."""
    found = []
    for process in psutil.process_iter():
        try:
            dead = process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
            if not dead and os.getpgid(process.pid) == group:
                found.append(process.pid)
        except (psutil.NoSuchProcess, ProcessLookupError):
            pass
    return found


def is_stopped(pid: int) -> bool:
    return psutil.Process(pid).status() == psutil.STATUS_STOPPED


def eventually(true: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, f"never {what}"
        time.sleep(0.02)


def processor_ticks(pid: int) -> int:
    """User and system time of a process so far (proc(5): fields 14 and 15 of stat)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def test_a_worker_answers(start):
    worker = prepared(start())
    assert len(worker.run(4).nanoseconds) == 1
    assert len(worker.run(4, each=True).nanoseconds) == 4
    assert worker.ask(wire.Memory(), wire.MemoryUsed).peak_bytes > 2**20


def test_a_worker_is_a_group_of_its_own_in_our_session(start):
    pid = start().process.pid
    assert os.getpgid(pid) == pid
    assert os.getsid(pid) == os.getsid(0)


def test_files_that_lie_around_are_not_imported(start, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("numpy.py").write_text("raise SystemError('imported what lay around')")
    assert start().start(framework()).version


def test_what_a_framework_prints_goes_to_the_log_and_not_into_the_answer(start):
    worker = start()
    worker.start(framework("rogues:Noisy"))
    worker.prepare(CASE)
    assert '{"message":"Closed"}' in worker.log.read_text()
    assert "W0000 cannot find something" in worker.log.read_text()
    worker.close()
    assert worker.process.returncode == 0  # a thread left behind does not keep it


def test_a_stopped_worker_uses_no_processor_and_goes_on_where_it_was(start):
    worker = prepared(start())
    pid = worker.process.pid
    steps = 100 * int(1e9 / worker.run(100).nanoseconds[0])  # of a second on an idle machine
    worker._channel.send(wire.TimeSteps(count=steps), seconds=PATIENCE)
    worker.stop()
    eventually(lambda: is_stopped(pid), "stopped")
    before = processor_ticks(pid)
    time.sleep(0.5)
    assert processor_ticks(pid) == before
    with pytest.raises(AssertionError, match="stopped"):
        worker.run(1)
    worker.resume()
    worker._channel.receive(wire.Elapsed, seconds=PATIENCE)
    assert processor_ticks(pid) > before
    assert worker.run(1).nanoseconds


def test_children_stop_resume_and_end_with_their_worker(with_child):
    worker, child = with_child()
    worker.stop()
    eventually(lambda: is_stopped(child), "stopped")
    worker.resume()
    eventually(lambda: not is_stopped(child), "resumed")
    worker.kill()
    eventually(lambda: living(worker.process.pid) == [], "gone")


def test_a_failed_case_leaves_the_worker_alive(start):
    worker = prepared(start(FLAKY="raise@3"))
    assert worker.run(2).nanoseconds
    with pytest.raises(CaseEnded) as caught:
        worker.run(1)
    assert caught.value.outcome == "failed"
    assert caught.value.reason == "RuntimeError: the tiny framework has lost its mind"
    assert "Traceback" in worker.log.read_text()
    assert worker.prepare(CASE).trainable_parameters


def test_too_large_a_case_ends_out_of_memory_and_leaves_the_worker_alive(start):
    worker = prepared(start(FLAKY="oom@1"))
    with pytest.raises(CaseEnded) as caught:
        worker.run(1)
    assert caught.value.outcome == "oom"
    assert worker.prepare(CASE).trainable_parameters


def test_an_unsupported_device_says_so_and_no_more(start):
    with pytest.raises(CaseEnded) as caught:
        start().start(wire.Start(runtime="mbench_tiny:Runtime", device="cuda", threads=1))
    assert caught.value.outcome == "unsupported"
    assert caught.value.reason == "tiny computes on the CPU only"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
@pytest.mark.parametrize("stopped", [False, True])
def test_a_killed_worker_crashed_by_name(start, number, stopped):
    worker = prepared(start())
    if stopped:
        worker.stop()
    os.kill(worker.process.pid, number)
    worker.resume()
    end = end_of(worker, lambda: worker.run(1))
    assert end.outcome == "crashed"
    assert f"killed by {number.name}" in end.reason
    assert ("want of memory" in end.reason) is (number == signal.SIGKILL)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("kill@2", "killed by SIGKILL"),
        ("exit@2", "the worker exited with code 3; its last words: going down"),
    ],
)
def test_a_worker_that_ends_in_a_step_crashed_with_its_last_words(start, fault, reason):
    worker = prepared(start(FLAKY=fault))
    end = end_of(worker, lambda: worker.run(5))
    assert end.outcome == "crashed"
    assert reason in end.reason


def test_no_answer_in_time_ends_the_worker(start):
    worker = prepared(start(FLAKY="hang@2"))
    end = end_of(worker, lambda: worker.run(5, timeout=0.5))
    assert (end.outcome, end.reason) == ("timeout", "no answer within 0.5 s")


def test_no_answer_in_time_ends_the_workers_children_too(with_child):
    worker, child = with_child("rogues:HangingParent")
    assert child in living(worker.process.pid)
    assert end_of(worker, lambda: worker.run(1, timeout=0.5)).outcome == "timeout"


@pytest.mark.parametrize(
    ("babble", "outcome", "reason"),
    [
        ("warming up...\n", "failed", "the worker answered nonsense: not JSON: b'warming up...'"),
        ('{"message":"Walk"}\n', "failed", "nonsense: not a message of ours"),
        ('{"message":"MemoryUsed"}\n', "failed", "nonsense: MemoryUsed lacks 'peak_bytes'"),
        ('{"message":"Closed"}\n', "failed", "nonsense: Closed, where FrameworkInfo is due"),
        ('{"message":"Failure","outcome":"tired","reason":"x"}\n', "failed", "nonsense"),
    ],
)
def test_nonsense_on_the_pipe_ends_the_worker(start, babble, outcome, reason):
    worker = start(BABBLE=babble)
    end = end_of(worker, lambda: worker.start(framework("rogues:Babbler")))
    assert end.outcome == outcome
    assert reason in end.reason


@pytest.mark.parametrize(
    ("times", "reason"),
    [
        ([], "Elapsed.nanoseconds should be durations, all above 0"),
        ([-1], "Elapsed.nanoseconds should be durations, all above 0"),
        ([1, 1], "2 durations, where 1 are due"),
        ([10**15], "durations longer than the wait for them"),
        ([10**30], "Elapsed.nanoseconds[0] is too large"),
    ],
)
def test_times_that_cannot_be_end_the_worker(start, times, reason):
    babble = wire.encode(wire.Elapsed(start_nanoseconds=1, nanoseconds=[7]))
    worker = start(BABBLE=babble.decode().replace("[7]", str(times)))
    worker.start(framework("rogues:Liar"))
    worker.prepare(CASE)
    end = end_of(worker, lambda: worker.run(1))
    assert (end.outcome, end.reason[:29]) == ("failed", "the worker answered nonsense:")
    assert reason in end.reason


@pytest.mark.parametrize(
    ("fault", "outcome", "reason"),
    [
        ("real_time_signal", "crashed", "the worker was killed by signal 40"),
        ("mute", "failed", "the worker closed its pipe, and did not end"),
        ("exit", "crashed", "the worker exited with code 0"),
        ("interrupt", "crashed", "killed by SIGINT; its last words: KeyboardInterrupt"),
        ("own", "crashed", "exited with code 1; its last words: rogues.Stumbler.own.<locals>.En"),
    ],
)
def test_what_we_kill_is_not_said_to_be_killed_by_others(
    start, monkeypatch, fault, outcome, reason
):
    monkeypatch.setattr(local, "GOODBYE_SECONDS", 0.5 if fault == "mute" else PATIENCE)
    worker = start(FAULT=fault)
    end = end_of(worker, lambda: worker.start(framework("rogues:Stumbler")))
    assert end.outcome == outcome
    assert reason in end.reason


def test_a_death_is_seen_though_a_child_holds_the_pipe(start):
    worker = start(FAULT="leave_an_heir")
    begin = time.monotonic()
    end = end_of(worker, lambda: worker.start(framework("rogues:Stumbler")))
    assert end.outcome == "crashed"
    assert "killed by SIGKILL" in end.reason
    assert time.monotonic() - begin < PATIENCE / 2


def test_a_worker_that_left_its_group_stops_and_ends_all_the_same(start):
    worker = start(FAULT="leave_the_group")
    pid = worker.process.pid
    worker._channel.send(framework("rogues:Stumbler"), seconds=PATIENCE)
    eventually(lambda: os.getpgid(pid) == os.getpgrp(), "in our group")
    worker.stop()
    eventually(lambda: is_stopped(pid), "stopped")
    worker.kill()
    assert worker.process.returncode == -signal.SIGKILL


def test_ending_a_worker_does_not_wait_for_ever(start, monkeypatch):
    monkeypatch.setattr(local, "KILL_SECONDS", 0.2)
    worker = start()
    with monkeypatch.context() as deaf:
        deaf.setattr(worker, "_signal", lambda number: None)
        deaf.setattr(local, "GOODBYE_SECONDS", 0.2)
        deaf.setattr(worker, "ask", lambda *arguments, **named: None)
        worker.close()
        assert worker.process.returncode is None


def test_an_answer_without_end_ends_the_worker(start, monkeypatch):
    monkeypatch.setattr(channel, "LONGEST_LINE", 2**20)
    worker = start()
    end = end_of(worker, lambda: worker.start(framework("rogues:Flood")))
    assert (end.outcome, end.reason) == (
        "failed",
        "the worker answered nonsense: a line without end",
    )


@pytest.mark.parametrize(
    ("body", "outcome", "reason"),
    [
        (None, "failed", "does not start"),
        ("#!/bin/sh\necho no libc >&2; exit 7", "crashed", "code 7; its last words: no libc"),
        ("#!/bin/sh\nexec sleep 3600", "timeout", "no answer within 0.5 s"),
    ],
)
def test_an_interpreter_that_is_none(start, tmp_path, body, outcome, reason):
    python = tmp_path / "python"
    if body is not None:
        python.write_text(body)
        python.chmod(0o755)
    before = psutil.Process().num_fds()
    with pytest.raises(CaseEnded) as caught:
        start(python=python, timeout=0.5 if outcome == "timeout" else PATIENCE)
    assert caught.value.outcome == outcome
    assert reason in caught.value.reason
    assert psutil.Process().num_fds() == before
    assert not [p for p in psutil.Process().children() if p.status() != psutil.STATUS_ZOMBIE]


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
    monkeypatch.setattr(local, "GOODBYE_SECONDS", 0.2)
    worker = prepared(start(FLAKY="hang@1"))
    worker._channel.send(wire.TimeSteps(count=1), seconds=PATIENCE)
    worker.close()
    assert worker.process.returncode == -signal.SIGKILL


ORPHAN = """
import sys, time
from pathlib import Path
sys.path[:0] = {path!r}
from mbench.contract import wire
from mbench.contract.place import ALONE
from mbench.engine import local
from mbench.engine.program import Program
program = Program(python=Path(sys.executable), modules=["mbench_tiny", "rogues"],
                  variables={{"CHILD": {child!r}}}, log=Path({log!r}), timeout_seconds=60)
worker = local.start(program, [ALONE])
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
