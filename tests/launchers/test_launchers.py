"""mpirun, srun and Ray themselves, on two hosts: what runs where, what breaks, and what is left."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import clusters
import hosts as engines
import network
import psutil
import pytest
from cases import make_case

from mbench.contract import wire
from mbench.engine.outcome import CaseEnded
from mbench.engine.watching import watching
from mbench.errors import MbenchError
from mbench.machine.usage import usage

CASE = make_case(mode="inference")
NOTICE = 10.0


def framework() -> wire.Start:
    return wire.Start(runtime="mbench_tiny_flaky:FlakyRuntime", device="cpu", threads=1)


@pytest.fixture
def start(opened, tmp_path):
    """A function that gives an open launcher and a worker of so many ranks, ready to run."""

    def start(nodes=2, each=1, **variables):
        made = opened(nodes)
        program = engines.program(tmp_path / "log", timeout=60.0, **variables)
        worker = made(program, engines.places(nodes, each))
        worker.start(framework())
        worker.prepare(CASE)
        return made, worker

    return start


def test_ranks_answer_from_where_they_should_be(start):
    made, worker = start(2, 2)
    where = [process.host for process in worker.processes]
    assert sorted(where) == ["mbh1", "mbh1", "mbh2", "mbh2"]
    assert where[0] == where[1]  # although Ray decides which node is the first
    found = [one.address.rpartition(":")[0] for one in worker.workers]
    assert sorted(set(found)) == ["10.77.91.2", "10.77.91.3"]
    assert found[0] == found[1] != found[2]
    for process in worker.processes:
        assert clusters.on_a_host(process.pid)
        has = psutil.Process(process.pid).environ()
        assert made.agents._token not in has.values()
        assert not [name for name in has if name.startswith(("OMPI_", "SLURM_", "RAY_"))]
    worker.stop()
    worker.resume()
    ranks = [psutil.Process(process.pid) for process in worker.processes]
    with watching(worker, None) as seen:
        assert len(worker.run(3).ranks) == 4
        begin = [sum(rank.cpu_times()[:2]) for rank in ranks]
        deadline = time.monotonic() + 30
        # Three steps may take less than the hundredth of a second in which their time is counted.
        while any(sum(r.cpu_times()[:2]) - b < 0.05 for r, b in zip(ranks, begin, strict=True)):
            assert time.monotonic() < deadline
            worker.run(100)
    assert [watch.host for watch in seen] == list(dict.fromkeys(where))
    assert all(usage(watch.samples).worker_cores > 0 for watch in seen)
    begins = [watch.samples[0].at_nanoseconds / 1e9 for watch in seen]
    assert (abs(begins[1] - begins[0]) > 9e4) is network.apart()  # hosts' clocks are their own
    worker.close()
    again = made(engines.program(worker.log), engines.places(2, 1))
    again.close()


def broken(worker, fault, *, said, rank=None):
    """Assert that `fault` soon ends the case for a reason in `said`, and leaves nothing running."""
    worker.stop()  # as workers are when it is not their turn
    worker.resume()
    begin = time.monotonic()
    fault()
    with pytest.raises(CaseEnded) as caught:
        worker.run(10**8)
    assert time.monotonic() - begin < NOTICE
    assert caught.value.outcome == "crashed"
    if rank is not None:
        host = worker.processes[rank].host
        assert caught.value.reason.startswith(f"rank {rank} of 2 on {host}: ")
    assert "of 2 on mbh" in caught.value.reason
    assert any(words in caught.value.reason for words in said), caught.value.reason
    print(caught.value.reason, f"after {time.monotonic() - begin:.1f} s")
    clusters.until(lambda: clusters.workers() == [], "gone", NOTICE + 2)


KILLED = ("the worker was killed by SIGKILL",)


def test_a_rank_that_is_killed(start):
    _, worker = start()
    broken(worker, lambda: os.kill(worker.processes[1].pid, signal.SIGKILL), said=KILLED, rank=1)


def test_a_rank_that_hangs(start):
    _, worker = start(FLAKY="hang@2")
    with pytest.raises(CaseEnded, match="timeout: no answer from any rank within 1 s"):
        worker.run(3, timeout=1.0)


def test_an_engine_that_is_killed(start, around):
    made, worker = start()
    said = ("mpirun was killed", "srun was killed", "driver was killed")
    broken(worker, made.agents._job.process.kill, said=said)


def test_a_link_that_is_down(start, two):
    _, worker = start()
    cut = next(host for host in two if host.name == worker.processes[1].host)
    try:
        broken(
            worker, lambda: cut.link("down"), said=("no heartbeat from its agent for 5 s",), rank=1
        )
        clusters.until(lambda: len(clusters.keeping()) <= 1, "gone", NOTICE)  # the other host's
    finally:
        cut.link("up")
        time.sleep(0.5)


def test_frameworks_of_other_versions(opened, tmp_path):
    worker = opened(2)(engines.program(tmp_path / "log", timeout=60.0), engines.places(2, 1))
    with pytest.raises(CaseEnded) as caught:
        worker.start(replace(framework(), runtime="rogues:Another"))
    host = worker.processes[1].host
    assert caught.value.outcome == "failed"
    said = f"rank 1 of 2 on {host}: its version of the framework is 1.1, but that of rank 0 is 1.0"
    assert caught.value.reason.startswith(said)
    clusters.until(lambda: clusters.workers() == [], "gone", NOTICE)


PARENT = """
import os, sys, time
from importlib import import_module
from pathlib import Path
sys.path[:0] = sys.argv[1].split(os.pathsep)
import hosts
module = import_module("mbench.engine." + sys.argv[2])
made = module.open(nodes=2, hosts="mbh1,mbh2" if sys.argv[2] == "mpi" else "", accelerators=0)
worker = made(hosts.program(Path(sys.argv[3]), timeout=60.0), hosts.places(2, 1))
worker.stop()
print(*(p.pid for p in worker.processes), flush=True)
time.sleep(3600)
"""


def test_a_parent_that_is_killed(around, tmp_path):
    words = [sys.executable, "-c", PARENT, engines.importable(), around, str(tmp_path / "log")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as parent:
        pids = parent.stdout.readline().split()
        assert len(pids) == 2
        parent.kill()
    begin = time.monotonic()
    clusters.until(lambda: clusters.keeping() == [], "gone", NOTICE + 5)
    print(f"gone after {time.monotonic() - begin:.1f} s")


def test_a_node_that_cannot_be_reached(around, monkeypatch, tmp_path):
    if around != "mpi":
        pytest.skip("who is in a cluster of Slurm or Ray is that cluster's to say")
    from mbench.engine import mpi

    made = mpi.open(nodes=2, hosts="mbh1,nowhere", accelerators=0)
    try:
        with pytest.raises(MbenchError) as caught:
            made(engines.program(tmp_path / "log"), engines.places(2, 1))
        assert "of 2 agents connected" in str(caught.value)
        assert "mpirun exited with code" in str(caught.value)
    finally:
        made.close()
    with contextlib.suppress(AssertionError):
        clusters.until(lambda: clusters.keeping() == [], "gone", NOTICE)
    assert clusters.keeping() == []


def test_a_head_that_is_killed_takes_nothing_with_it(start, around):
    """Ray itself notices after a minute. This is the last test of its cluster."""
    if around != "ray":
        pytest.skip("only Ray has a head that its nodes cannot do without")
    _, worker = start()
    servers = [one for one in clusters.of_mark(network.PARENT) if "gcs" in one.name()]
    assert servers
    clusters.kill_all(servers)
    begin = time.monotonic()
    while time.monotonic() < begin + 5:
        assert len(worker.run(3).ranks) == 2
    worker.close()
    clusters.until(lambda: clusters.workers() == [], "gone", NOTICE)
