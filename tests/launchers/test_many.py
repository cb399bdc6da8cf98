"""Many ranks: a hundred and twenty-eight that only answer, and fewer real ones; none is left."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace

import hosts as engines
import psutil
import pytest
from cases import make_case

from mbench.contract import wire
from mbench.engine.cluster import Cluster
from mbench.engine.outcome import CaseEnded

NODES, EACH = 4, 32
STUB = """#!/bin/bash
# A worker that only answers: bash PYTHON_FILE PARENT READ_FD WRITE_FD FILES
printf '{"message":"Hello","python":"none","pid":%d,"process_group":%d}\\n' $$ $$ >&$4
while read -r line <&$3; do printf '{"message":"Loaded"}\\n' >&$4; done
"""


def test_many_ranks(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", engines.importable())
    stub = tmp_path / "python"
    stub.write_text(STUB)
    stub.chmod(0o755)
    program = replace(engines.program(tmp_path / "logs" / "log", timeout=120.0), python=stub)
    cluster = Cluster(engines.Here(), NODES)
    before = set(psutil.pids())
    try:
        cluster.agents.nodes()
        begin = time.monotonic()
        worker = cluster(program, engines.places(NODES, EACH))
        print(f"{len(worker.processes)} ranks connected within {time.monotonic() - begin:.1f} s")
        assert len({process.pid for process in worker.processes}) == NODES * EACH
        took = []
        for _ in range(10):
            begin = time.perf_counter()
            assert len(worker.ask_all(wire.Load(), wire.Loaded)) == NODES * EACH
            took.append((time.perf_counter() - begin) / (NODES * EACH))
        print(f"a message to all takes {min(took) * 1e3:.2f} ms a rank")
        assert min(took) < 5e-3
        for what in (worker.stop, worker.resume, worker.kill):
            begin = time.perf_counter()
            what()
            print(f"{what.__name__} takes {time.perf_counter() - begin:.2f} s")
        pids = [process.pid for process in worker.processes]
        assert not set(pids) & set(psutil.pids())
    finally:
        cluster.close()
    left = [pid for pid in set(psutil.pids()) - before if ours(pid, str(tmp_path))]
    assert left == []


@pytest.mark.parametrize(("nodes", "each"), [(1, 8), (4, 16)])
def test_real_ranks(tmp_path, monkeypatch, nodes, each):
    """Each rank runs the tiny framework, with NumPy; killing an agent leaves nothing."""
    monkeypatch.setenv("PYTHONPATH", engines.importable())
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    program = engines.program(tmp_path / "logs" / "log", timeout=120.0, OPENBLAS_NUM_THREADS="1")
    cluster = Cluster(engines.Here(), nodes)
    before = set(psutil.pids())
    try:
        cluster.agents.nodes()
        begin = time.monotonic()
        worker = cluster(program, engines.places(nodes, each))
        print(f"{nodes}x{each}: connected within {time.monotonic() - begin:.1f} s")
        worker.start(wire.Start(runtime="mbench_tiny_flaky:FlakyRuntime", device="cpu", threads=1))
        worker.prepare(make_case(mode="train", scale=f"{nodes}x{each}"))
        took = []
        for _ in range(10):
            begin = time.perf_counter()
            worker.ask_all(wire.Memory(), wire.MemoryUsed)
            took.append((time.perf_counter() - begin) / (nodes * each))
        print(f"a message to all takes {min(took) * 1e3:.2f} ms a rank")
        assert min(took) < 5e-3
        assert len(worker.run(2).ranks) == nodes * each
        os.kill(cluster.agents.nodes()[-1].here.pid, signal.SIGKILL)
        begin = time.monotonic()
        with pytest.raises(CaseEnded) as caught:
            worker.run(10**7)
        assert caught.value.outcome == "crashed"
        assert "its agent is gone" in caught.value.reason or "broke" in caught.value.reason
        pids = {process.pid for process in worker.processes}
        while pids & living():
            assert time.monotonic() - begin < 10
            time.sleep(0.05)
        print(f"all ended within {time.monotonic() - begin:.1f} s")
    finally:
        cluster.close()
    left = [pid for pid in set(psutil.pids()) - before if ours(pid, str(tmp_path))]
    assert left == []


def living():
    return {one.pid for one in psutil.process_iter(["status"])
            if one.info["status"] != psutil.STATUS_ZOMBIE}  # fmt: skip


def ours(pid, mark):
    try:
        return mark in " ".join(psutil.Process(pid).cmdline())
    except psutil.Error:
        return False
