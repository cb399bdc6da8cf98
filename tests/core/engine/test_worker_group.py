"""Several real processes act as one worker, and all of them end if one of them falls short."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace

import pytest
from cases import make_case
from workers import PATIENCE, PYTHON, eventually, framework, is_stopped, living

from mbench.contract import wire
from mbench.contract.rank import RankInfo, parse_scale, ranks_of
from mbench.engine import local, worker_group
from mbench.engine.outcome import CaseEnded
from mbench.errors import MbenchError
from mbench.plugins.launcher import Program

CASE = make_case(scale="1x3")


@pytest.fixture
def start(tmp_path):
    """Starts workers of three processes, which do not outlive the test."""
    started = []

    def start(*, timeout=PATIENCE, scale="1x3", **variables):
        program = Program(
            python=PYTHON, modules=["mbench_tiny", "rogues"], variables=variables,
            log=tmp_path / "logs" / "case.log", timeout_seconds=timeout,
        )  # fmt: skip
        worker = local.start(program, ranks_of(parse_scale(scale)))
        started.append(worker)
        return worker

    yield start
    for worker in started:
        worker.kill()


def prepared(worker, case=CASE):
    worker.start(framework())
    worker.prepare(case)
    return worker


def gone(worker):
    for process in worker.processes:
        eventually(lambda pid=process.pid: living(pid) == [], "gone")


def ended(worker, action):
    """How `action` ended the case; no process of the worker may be left."""
    with pytest.raises(CaseEnded) as caught:
        action()
    gone(worker)
    return caught.value


def test_all_answer_and_the_slowest_ones_time_counts(start):
    worker = prepared(start())
    elapsed = worker.run(4, lead=1)
    assert len(elapsed.ranks) == 3
    assert elapsed.nanoseconds == [max(of_rank[0] for of_rank in elapsed.ranks)]
    each = worker.run(3, each=True)
    assert [len(times) for times in each.ranks] == [3, 3, 3]
    assert each.nanoseconds == [max(times) for times in zip(*each.ranks, strict=True)]
    seen = worker.ask_all(wire.Look(changes=True), wire.Seen)
    assert [one.step for one in seen] == [8, 8, 8]
    assert len({one.loss for one in seen}) == 3, "each has a batch of its own"
    assert seen[0].changes == seen[1].changes == seen[2].changes


def test_each_has_a_log_and_a_share_of_the_memory(start, tmp_path):
    worker = prepared(start())
    worker.close()
    gone(worker)
    logs = sorted(path.name for path in (tmp_path / "logs").iterdir())
    assert logs == ["case-rank0.log", "case-rank1.log", "case-rank2.log"]


def test_all_stop_and_all_go_on(start):
    worker = prepared(start())
    worker.stop()
    for process in worker.processes:
        eventually(lambda pid=process.pid: is_stopped(pid), "stopped")
    worker.resume()
    assert len(worker.run(1).ranks) == 3


@pytest.mark.parametrize("rank", [0, 2])
def test_one_that_is_killed_ends_all_by_name(start, rank):
    worker = prepared(start())
    os.kill(worker.processes[rank].pid, signal.SIGKILL)
    begin = time.monotonic()
    end = ended(worker, lambda: worker.run(2))
    assert end.outcome == "crashed"
    assert end.reason.startswith(f"rank {rank} of 3: the worker was killed by SIGKILL")
    assert end.log.name == f"case-rank{rank}.log"
    assert time.monotonic() - begin < 10


def test_one_that_raises_ends_all_though_the_others_wait_for_it(start, monkeypatch):
    monkeypatch.setattr(worker_group, "GRACE_SECONDS", 0.5)
    worker = prepared(start())
    first = worker.workers[0]
    tell = first.tell

    def other(message, *, timeout=None):
        tell(wire.Prepare(case=replace(CASE, compiler="nonsense")), timeout=timeout)

    monkeypatch.setattr(first, "tell", other)  # so it takes no part in the exchange
    end = ended(worker, lambda: worker.run(1))
    assert end.outcome == "unsupported"
    said = "Flaky has no compiler nonsense; available: eager, imaginary, steady"
    assert end.reason == f"rank 0 of 3: {said}"


def test_what_all_say_alike_is_said_once(start):
    worker = start()
    worker.start(framework())
    with pytest.raises(CaseEnded, match=r"^unsupported: Flaky has no compiler nonsense"):
        worker.prepare(replace(CASE, compiler="nonsense"))
    assert worker.ask(wire.Prepare(case=CASE), wire.Prepared).batches == 8, "it lives on"


def test_one_that_says_nothing_in_time_ends_all(start):
    worker = prepared(start())
    os.kill(worker.processes[1].pid, signal.SIGSTOP)
    end = ended(worker, lambda: worker.run(1, timeout=0.7))
    assert end.outcome == "timeout"
    assert end.reason == "no answer from any rank within 0.7 s"


def test_other_versions_are_refused_with_the_difference(start, monkeypatch):
    worker = start()
    last = worker.workers[2]
    hear = last.hear

    def other(answer, *, timeout=None):
        found = hear(answer, timeout=timeout)
        return replace(found, versions={"numpy": "0.1"})

    monkeypatch.setattr(last, "hear", other)
    end = ended(worker, lambda: worker.start(framework()))
    assert end.reason.startswith("rank 2 of 3: its version of numpy is 0.1, but that of rank 0 is ")


def test_places_elsewhere_are_not_for_this_launcher(tmp_path):
    program = Program(python=PYTHON, modules=[], variables={}, log=tmp_path / "log",
                      timeout_seconds=1.0)  # fmt: skip
    with pytest.raises(MbenchError, match="processes on this machine only"):
        local.start(program, ranks_of(parse_scale("2x2")))


def test_ranks_of_a_node_follow_each_other():
    assert ranks_of(parse_scale("2x2")) == [
        RankInfo(rank=0, ranks=4, local_rank=0, local_ranks=2),
        RankInfo(rank=1, ranks=4, local_rank=1, local_ranks=2),
        RankInfo(rank=2, ranks=4, local_rank=0, local_ranks=2),
        RankInfo(rank=3, ranks=4, local_rank=1, local_ranks=2),
    ]


def test_many_start_answer_and_are_gone(start):
    """Sixteen processes, however few cores there are."""
    begin = time.monotonic()
    worker = start(scale="1x16")
    worker.start(framework())
    assert time.monotonic() - begin < 60
    worker.prepare(make_case(scale="1x16"))
    assert len(worker.run(1, lead=1).ranks) == 16
    worker.kill()
    gone(worker)
