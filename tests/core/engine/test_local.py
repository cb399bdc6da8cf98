"""Real worker processes: what they answer, that they stop, and what they survive."""

from __future__ import annotations

import os
import signal
import socket
import time
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from workers import (
    CASE,
    PATIENCE,
    PYTHON,
    eventually,
    framework,
    is_stopped,
    living,
    prepared,
    processor_ticks,
)

from mbench.contract import wire
from mbench.contract.rank import Scale, ranks_of
from mbench.engine import local
from mbench.engine.outcome import CaseEnded
from mbench.machine.memory_layout import limitation
from mbench.plugins.launcher import Program


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
    assert worker.process.returncode == 0  # a thread left behind does not keep it alive


def test_a_stopped_worker_uses_no_processor_and_goes_on_where_it_was(start):
    worker = prepared(start())
    pid = worker.process.pid
    steps = 100 * int(1e9 / worker.run(100).nanoseconds[0])  # one second on an idle machine
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


def test_a_worker_that_left_its_group_stops_and_ends_all_the_same(start):
    worker = start(FAULT="leave_the_group")
    pid = worker.process.pid
    worker._channel.send(framework("rogues:Stumbler"), seconds=PATIENCE)
    eventually(lambda: os.getpgid(pid) == os.getpgrp(), "in our group")
    worker.stop()
    eventually(lambda: is_stopped(pid), "stopped")
    worker.kill()
    assert worker.process.returncode == -signal.SIGKILL


def test_each_of_several_sees_a_device_of_its_own(tmp_path, monkeypatch):
    asked = SimpleNamespace(visible=lambda local_rank: {"ONLY": str(local_rank)})
    monkeypatch.setattr(local, "kind", lambda name: asked)
    program = Program(
        python=PYTHON, modules=["mbench_tiny"], variables={}, log=tmp_path / "log",
        timeout_seconds=PATIENCE, device="oven",
    )  # fmt: skip
    worker = local.start(program, ranks_of(Scale(nodes=1, devices_per_node=2)))
    try:
        seen = [psutil.Process(one.pid).environ()["ONLY"] for one in worker.processes]
        assert seen == ["0", "1"]
    finally:
        worker.kill()
    alone = local.start(program, ranks_of(Scale(nodes=1, devices_per_node=1)))
    assert "ONLY" not in psutil.Process(alone.processes[0].pid).environ()
    alone.kill()


@pytest.mark.parametrize("threads", [0, 1])
def test_ranks_have_cores_of_their_own_only_where_they_are_steady(tmp_path, threads):
    if limitation():
        pytest.skip(limitation())
    program = Program(
        python=PYTHON, modules=["mbench_tiny"], variables={}, log=tmp_path / "log",
        timeout_seconds=PATIENCE, device="cpu", steady_threads=threads,
    )  # fmt: skip
    worker = local.start(program, ranks_of(Scale(nodes=1, devices_per_node=2)))
    usable = os.sched_getaffinity(0)
    try:
        one, other = (os.sched_getaffinity(process.pid) for process in worker.processes)
        if threads:
            assert len(one) == len(other) == 1
            assert len(usable) == 1 or one != other
        else:
            assert one == other == usable
    finally:
        worker.kill()


def test_a_free_port_is_none_that_the_system_hands_out_by_itself():
    first = int(local.GIVEN_PORTS.read_text().split()[0])
    assert {local.free_port() < first for _ in range(50)} == {True}
    assert len({local.free_port() for _ in range(50)}) > 25


def test_a_port_that_is_taken_is_no_free_one(monkeypatch):
    with socket.create_server((local.LOOPBACK, 0)) as taken:
        monkeypatch.setattr(local.random, "sample", lambda *_: [taken.getsockname()[1]])
        assert local.free_port() != taken.getsockname()[1]
