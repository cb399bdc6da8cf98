"""Synchronisation: what a block is timed by is all of its work, and nothing else."""

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
"""What an adapter does wrong it does again; another program's load comes and goes."""
BLOCKS = 4
MOST_PAIRS = 6 * REPEATS
WITHIN = 0.25
LEFT_OVER = 0.5
"""Of a block's time. Without waiting, all of it would be left; what is measured is noisy."""


@pytest.fixture(scope="module")
def worker(subject: Subject) -> Iterator[Worker]:
    """Of one thread: beside other load, several wait for each other, now 0.1 s and now 10 s."""
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
    """How long the parent waits for a result that needs all work before it."""
    begin = perf_counter()
    worker.ask(wire.Look(), wire.Seen)
    return perf_counter() - begin


def steps_in(worker: Worker, seconds: float) -> int:
    """How many steps take that time at least, what is left of them after synchronize included."""
    count, idle = 1, settle_seconds(worker)
    while block_seconds(worker, count) + settle_seconds(worker) - idle < seconds:
        count *= 2
    return count


def test_n_steps_take_n_times_as_long_as_one(worker: Worker, running: Case) -> None:
    """One long block against as many steps in short ones, at once: load or a slow core hits both.

    A fault is in every pair of them. What is noise goes as more pairs are looked at.
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
        f"{BLOCKS * count} steps take {median(ratios):.2f} times as long at once as in {BLOCKS} "
        f"blocks of {count}: the time is not that of the steps"
    )


def test_nothing_is_left_to_wait_for_after_synchronize(worker: Worker, running: Case) -> None:
    count = steps_in(worker, max(0.3, 2 * settle_seconds(worker)))
    for _ in range(ATTEMPTS):
        left, blocks = [], []
        for _ in range(REPEATS):
            blocks.append(block_seconds(worker, count))
            first, idle = settle_seconds(worker), settle_seconds(worker)
            left.append(first - idle)  # both at once: a disturbance seldom hits one of them alone
        if median(left) <= LEFT_OVER * median(blocks):
            return
    pytest.fail(
        f"{count} steps were timed as {median(blocks):.3g} s, and {median(left):.3g} s of work "
        "were left: synchronize does not wait for all that step enqueues"
    )
