"""Synchronisation: a block's time covers all of its work, and nothing else."""

from __future__ import annotations

import math
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

import pytest

from mbench.contract import wire

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mbench.contract.case import Case
    from mbench.plugins.launcher import Worker
    from mbench.testing.subject import Subject

REPEATS = 7
ATTEMPTS = 3
"""An adapter's fault recurs; another program's load comes and goes."""
BLOCKS = 4
MOST_PAIRS = 6 * REPEATS
WITHIN = 0.25
LEFT_OVER = 0.5
"""Allowed share of a block's time. Without waiting, all of it would be left; timings are noisy."""


@pytest.fixture(scope="module")
def worker(subject: Subject) -> Iterator[Worker]:
    """A worker with one thread: under other load, several wait 0.1 s or 10 s for each other."""
    with subject.worker(subject.case(threads=1)) as worker:
        yield worker


@pytest.fixture(params=["train", "inference"])
def running(request: pytest.FixtureRequest, subject: Subject, worker: Worker) -> Case:
    """A case that is prepared and warm."""
    case = subject.case(mode=request.param, threads=1)
    worker.prepare(case)
    worker.run(3)
    return case


def block_seconds(worker: Worker, count: int) -> float:
    return worker.run(count).nanoseconds[0] / 1e9


def settle_seconds(worker: Worker) -> float:
    """How long the parent waits for a result that depends on all earlier work."""
    begin = perf_counter()
    worker.ask(wire.Look(), wire.Seen)
    return perf_counter() - begin


def steps_in(worker: Worker, seconds: float) -> int:
    """How many steps take at least that time, including what is left of them after synchronize."""
    count, idle = 1, settle_seconds(worker)
    while block_seconds(worker, count) + settle_seconds(worker) - idle < seconds:
        count *= 2
    return count


def test_n_steps_take_n_times_as_long_as_one(worker: Worker, running: Case) -> None:
    """One long block against as many steps in short ones, back to back: load or a slow core hits
    both. A fault is in every pair of them. Noise disappears as more pairs are measured.
    """
    count = math.ceil(0.05 / min(block_seconds(worker, 1) for _ in range(5)))
    ratios: list[float] = []
    while len(ratios) < MOST_PAIRS:
        for _ in range(REPEATS):
            long = block_seconds(worker, BLOCKS * count)
            ratios.append(long / sum(block_seconds(worker, count) for _ in range(BLOCKS)))
        if 1 / (1 + WITHIN) <= median(ratios) <= 1 + WITHIN:
            return
    pytest.fail(
        f"{BLOCKS * count} steps take {median(ratios):.2f} times as long in one block as in "
        f"{BLOCKS} blocks of {count}: the time is not that of the steps"
    )


def test_nothing_is_left_to_wait_for_after_synchronize(worker: Worker, running: Case) -> None:
    count = steps_in(worker, max(0.3, 2 * settle_seconds(worker)))
    for _ in range(ATTEMPTS):
        left, blocks = [], []
        for _ in range(REPEATS):
            blocks.append(block_seconds(worker, count))
            first, idle = settle_seconds(worker), settle_seconds(worker)
            left.append(first - idle)  # back to back: a disturbance seldom hits only one
        if median(left) <= LEFT_OVER * median(blocks):
            return
    pytest.fail(
        f"{count} steps were timed at {median(blocks):.3g} s, but {median(left):.3g} s of work "
        "was left: synchronize does not wait for everything that step enqueues"
    )
