"""Workers of one small case, as the benchmarks that need them start them."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mbench.engine.launch import launch
from mbench.environments.locate import find
from mbench.harness.warmup import warm_up
from mbench.plan.plan import Sweep, plan
from mbench.plugins import Plugins

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mbench.engine.local import Worker

__all__ = ["block", "fresh_workers", "warm_workers"]


def block(worker: Worker, steps: int, *, lead: int = 0) -> float:
    """Steps per second of one block after `lead` steps, the worker stopped before and after."""
    worker.resume()
    if lead:
        worker.run(lead)
    nanoseconds = worker.run(steps).nanoseconds[0]
    worker.stop()
    return steps * 1e9 / nanoseconds


@contextmanager
def fresh_workers(count: int, *, sweep: Sweep) -> Iterator[list[Worker]]:
    """`count` identical workers of the one case of `axes`, prepared, not a step done."""
    (comparison,) = plan(sweep, Plugins())
    (entry,) = comparison.entries
    environment = find(entry.spec, entry.adapter, accelerator="cpu", provision=True, report=print)
    workers: list[Worker] = []
    with tempfile.TemporaryDirectory(prefix="mbench-") as folder:
        try:
            for number in range(count):
                worker, _ = launch(
                    entry.adapter, environment, entry.case,
                    log=Path(folder, f"{number}.log"), timeout=900,
                )  # fmt: skip
                workers.append(worker)
                worker.prepare(entry.case)
            yield workers
        finally:
            for worker in workers:
                worker.close()


@contextmanager
def warm_workers(
    count: int, *, sweep: Sweep, block_seconds: float
) -> Iterator[tuple[list[Worker], int]]:
    """The same, warm and stopped, and the steps of a block."""
    with fresh_workers(count, sweep=sweep) as workers:
        for worker in workers:
            warmup = warm_up(lambda steps, w=worker: w.run(steps).nanoseconds[0])
            worker.stop()
        yield workers, max(1, round(block_seconds / warmup.step_seconds))
