"""Faults on nodes: the reason names the node, and nothing is left behind."""

from __future__ import annotations

import errno
import os
import signal
import socket
import sys

import hosts
import pytest
from alive import gone
from cases import make_case
from workers import INFERENCE, ended, eventually, framework

from mbench.engine import agents, handshake
from mbench.engine.outcome import CaseEnded
from mbench.errors import MbenchError

TRAINING = make_case(mode="train")


def test_one_rank_that_hangs(start_ranks):
    _, worker = start_ranks(2, 1)
    os.kill(worker.processes[1].pid, signal.SIGSTOP)
    end = ended(worker, lambda: worker.run(3, timeout=0.7))
    host = worker.processes[1].host
    assert (end.outcome, end.reason) == (
        "timeout", f"no answer from rank 1 on {host} within 0.7 s"
    )  # fmt: skip


def test_one_rank_that_wants_too_much_memory(start_ranks):
    _, worker = start_ranks(2, 1, runtime="rogues:Greedy", GREEDY="1")
    with pytest.raises(CaseEnded) as caught:
        worker.run(1)
    assert caught.value.outcome == "oom"
    assert caught.value.reason.startswith(f"rank 1 of 2 on {worker.processes[1].host}: ")


def test_a_rank_with_another_version(cluster, tmp_path):
    worker = cluster(2)(hosts.program(tmp_path / "log"), hosts.places(2, 1))
    end = ended(worker, lambda: worker.start(framework("rogues:Another")))
    assert end.outcome == "failed"
    assert end.reason == (
        f"rank 1 of 2 on {worker.processes[1].host}: its version of the framework is 1.1, but that "
        "of rank 0 is 1.0; install the same version on both"
    )


def test_a_port_that_somebody_else_took(cluster, tmp_path):
    """Another program may take the port between its choice and its use by the framework."""
    worker = cluster(2)(hosts.program(tmp_path / "log"), hosts.places(2, 1))
    (place,) = handshake.split(worker.workers[0].address)
    with socket.create_server(place), pytest.raises(CaseEnded) as caught:
        worker.start(framework())
    assert caught.value.outcome == "failed"
    assert f"rank 0 of 2 on {worker.processes[0].host}: " in caught.value.reason
    assert "Address already in use" in caught.value.reason
    worker.kill()


def test_no_port_to_listen_at(cluster, tmp_path, monkeypatch):
    def taken(*arguments, **options):
        raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))

    monkeypatch.setattr(agents.socket, "create_server", taken)
    with pytest.raises(MbenchError, match=r"cannot listen for nodes on .*: Address already in use"):
        cluster(2)(hosts.program(tmp_path / "log"), hosts.places(2, 1))


def test_what_a_killed_agent_left_goes_with_the_next(start_ranks, tmp_path, monkeypatch):
    folders = tmp_path / "tmp"
    folders.mkdir()
    monkeypatch.setenv("TMPDIR", str(folders))
    made, worker = start_ranks(2, 1)
    of_agents = set(folders.iterdir())
    os.kill(made.agents.nodes()[1].here.pid, signal.SIGKILL)
    ended(worker, lambda: worker.run(10**7))
    assert of_agents <= set(folders.iterdir())
    again = made(hosts.program(worker.log), hosts.places(2, 1))
    assert not of_agents & set(folders.iterdir())
    again.kill()
    made.close()
    eventually(lambda: not list(folders.iterdir()), "gone")


CLOCK = """
import os, runpy, sys, time
if os.environ["MBENCH_NODE"] == "1":
    for name in ("monotonic", "perf_counter", "time"):
        setattr(time, name, lambda real=getattr(time, name): real() + 1e6)
    time.perf_counter_ns = lambda real=time.perf_counter_ns: real() + 10**15
runpy.run_module("mbench.engine.agent", run_name="__main__")
"""


def test_an_agent_whose_clocks_are_others(cluster, tmp_path):
    from mbench.engine.watching import watching
    from mbench.machine.usage import usage

    script = hosts.SPREAD.replace("sys.argv[2:]", f"[{sys.executable!r}, '-c', {CLOCK!r}]")
    worker = cluster(2, script=script)(hosts.program(tmp_path / "log"), hosts.places(2, 1))
    worker.start(framework())
    worker.prepare(INFERENCE)
    with watching(worker, None) as seen:
        worker.run(5)
    begins = [watch.samples[0].at_nanoseconds for watch in seen]
    assert abs(begins[1] - begins[0]) > 10**14
    assert all(0 < usage(watch.samples).seconds < 60 for watch in seen)
    assert [watch.host for watch in seen] == [process.host for process in worker.processes]
    pids = [process.pid for process in worker.processes]
    worker.close()
    eventually(lambda: gone(*pids), "gone")
