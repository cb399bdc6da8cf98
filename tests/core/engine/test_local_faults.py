"""Workers that die, hang or lie end their case, with a reason that names what happened."""

from __future__ import annotations

import os
import signal
import time

import psutil
import pytest
from alive import lives
from workers import CASE, PATIENCE, end_of, framework, living, prepared

from mbench.contract import wire
from mbench.engine import single, transport
from mbench.engine.outcome import CaseEnded


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
    assert ("lack of memory" in end.reason) is (number == signal.SIGKILL)


def test_who_asks_more_of_a_worker_that_has_ended_is_told_so(start):
    worker = prepared(start(FLAKY="kill@2"))
    end_of(worker, lambda: worker.run(5))
    again = end_of(worker, lambda: worker.prepare(CASE))
    assert (again.outcome, again.reason) == ("failed", "its worker has already ended")
    worker.resume()
    worker.stop()


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
        ("warming up...\n", "failed", "worker sent an invalid answer: not JSON: b'warming up...'"),
        ('{"message":"Walk"}\n', "failed", "invalid answer: unknown message"),
        ('{"message":"MemoryUsed"}\n', "failed", "answer: MemoryUsed lacks 'peak_bytes'"),
        ('{"message":"Closed"}\n', "failed", "answer: Closed instead of FrameworkInfo"),
        ('{"message":"Failure","outcome":"tired","reason":"x"}\n', "failed", "invalid"),
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
        ([1, 1], "2 durations instead of 1"),
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
    assert (end.outcome, end.reason[:34]) == ("failed", "the worker sent an invalid answer:")
    assert reason in end.reason


@pytest.mark.parametrize(
    ("fault", "outcome", "reason"),
    [
        ("real_time_signal", "crashed", "the worker was killed by signal 40"),
        ("mute", "failed", "the worker closed its pipe but did not end"),
        ("exit", "crashed", "the worker exited with code 0"),
        ("interrupt", "crashed", "killed by SIGINT; its last words: KeyboardInterrupt"),
        ("own", "crashed", "exited with code 1; its last words: rogues.Stumbler.own.<locals>.En"),
        ("want_memory", "oom", "OpenBLAS error: Memory allocation still failed after 10 retries"),
    ],
)
def test_what_we_kill_is_not_said_to_be_killed_by_others(
    start, monkeypatch, fault, outcome, reason
):
    monkeypatch.setattr(single, "GOODBYE_SECONDS", 0.5 if fault == "mute" else PATIENCE)
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


def test_an_answer_without_end_ends_the_worker(start, monkeypatch):
    monkeypatch.setattr(transport, "LONGEST_ANSWER", 2**20)
    worker = start()
    end = end_of(worker, lambda: worker.start(framework("rogues:Flood")))
    assert (end.outcome, end.reason) == (
        "failed",
        "the worker sent an invalid answer: a line that does not end",
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
    assert not [p for p in psutil.Process().children() if lives(p.pid)]
