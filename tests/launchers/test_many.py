"""A hundred and twenty-eight ranks: all dial in, each answers soon, and nothing of them is left."""

from __future__ import annotations

import time
from dataclasses import replace

import hosts as engines
import psutil

from mbench.contract import wire
from mbench.engine.cluster import Cluster

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
        cluster.keepers.nodes()
        begin = time.monotonic()
        worker = cluster(program, engines.places(NODES, EACH))
        print(f"{len(worker.processes)} ranks dialled in within {time.monotonic() - begin:.1f} s")
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


def ours(pid, mark):
    try:
        return mark in " ".join(psutil.Process(pid).cmdline())
    except psutil.Error:
        return False
