"""Fixtures that start real workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import hosts
import psutil
import pytest
from alive import lives
from workers import INFERENCE, PATIENCE, PYTHON, RUNTIME, eventually, framework

from mbench.contract.rank import SINGLE
from mbench.engine import local
from mbench.engine.cluster import Cluster
from mbench.engine.local import LocalWorker
from mbench.plugins.launcher import Program

if TYPE_CHECKING:
    from pathlib import Path

Start = Callable[..., LocalWorker]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts workers, which do not outlive the test."""
    workers: list[LocalWorker] = []

    def start(*, python: Path = PYTHON, timeout: float = PATIENCE, **variables: str) -> LocalWorker:
        program = Program(
            python=python,
            modules=["mbench_tiny", "rogues"],
            variables=variables,
            log=tmp_path / "logs" / f"{len(workers)}.log",
            timeout_seconds=timeout,
        )
        worker = local.start(program, [SINGLE])
        workers.append(worker)
        return worker

    yield start
    for worker in workers:
        worker.kill()


@pytest.fixture
def with_child(start: Start, tmp_path: Path) -> Callable[..., tuple[LocalWorker, int]]:
    """Starts a worker that has a child; returns the worker and the child's process id."""

    def with_child(runtime: str = "rogues:Parent") -> tuple[LocalWorker, int]:
        worker = start(CHILD=str(tmp_path / "child"))
        worker._channel.send(framework(runtime), seconds=PATIENCE)
        eventually((tmp_path / "child").exists, "a child")
        return worker, int((tmp_path / "child").read_text())

    return with_child


@pytest.fixture
def cluster(monkeypatch):
    """Makes clusters and closes them; then no process of theirs may be left."""
    made = []

    def cluster(nodes=2, **given):
        made.append(Cluster(hosts.Here(**given), nodes))
        return made[-1]

    monkeypatch.setenv("PYTHONPATH", hosts.importable())
    before = set(psutil.Process().children(recursive=True))
    yield cluster
    for one in made:
        one.close()
    eventually(lambda: {p for p in psutil.Process().children(recursive=True)
                        if lives(p.pid)} <= before, "gone")  # fmt: skip


@pytest.fixture
def start_ranks(cluster, tmp_path):
    """Starts a ready worker of `nodes` nodes with `each` ranks; returns (cluster, worker)."""

    def start(nodes=2, each=1, *, runtime=RUNTIME, case=INFERENCE, **variables):
        made = cluster(nodes)
        given = hosts.program(tmp_path / "logs" / "worker.log", **variables)
        worker = made(given, hosts.places(nodes, each))
        worker.start(framework(runtime))
        worker.prepare(case)
        return made, worker

    return start
