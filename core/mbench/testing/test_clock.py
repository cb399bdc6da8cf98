"""Synchronisation: what a block is timed by is all of its work, and nothing else."""

from __future__ import annotations

import math
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

import pytest

from mbench.contract import wire
from mbench.contract.case import MODES
from mbench.testing.subject import observe

if TYPE_CHECKING:
    from mbench.contract.case import Case
    from mbench.engine.worker import Worker
    from mbench.testing.subject import Subject

REPEATS = 7
ATTEMPTS = 3
"""What an adapter does wrong it does again; another program's load comes and goes."""
SIZES = (1, 2, 4)
WITHIN = 0.25
LEFT_OVER = 0.5
"""Of a block's time. Without waiting, all of it would be left; what is measured is noisy."""


@pytest.fixture(params=MODES)
def running(request: pytest.FixtureRequest, subject: Subject, worker: Worker) -> Case:
    """A case that is prepared and warm."""
    case = subject.case(mode=request.param)
    worker.prepare(case)
    worker.run(3)
    return case


def steps_in(worker: Worker, seconds: float) -> int:
    """How many steps a block of at least that time has."""
    count = 1
    while (elapsed := worker.run(count).nanoseconds[0] / 1e9) < seconds / 4:
        count *= 2
    return math.ceil(count * seconds / elapsed)


def settle_seconds(worker: Worker, case: Case) -> float:
    """How long the parent waits for a result that needs all work before it."""
    begin = perf_counter()
    if case.mode == "train":
        worker.ask(wire.Loss(), wire.LossValue)
    else:
        observe(worker, case)
    return perf_counter() - begin


def test_n_steps_take_n_times_as_long_as_one(worker: Worker, running: Case) -> None:
    base = steps_in(worker, 0.05)
    for _ in range(ATTEMPTS):
        seconds: dict[int, list[float]] = {size: [] for size in SIZES}
        for _ in range(REPEATS):  # in turns, so that a disturbance is everybody's
            for size in SIZES:
                seconds[size].append(worker.run(size * base).nanoseconds[0] / 1e9)
        each = [min(seconds[size]) / size for size in SIZES]
        if max(each) <= (1 + WITHIN) * min(each):
            return
    pytest.fail(f"{base}, {2 * base} and {4 * base} steps take {each} seconds for every {base}")


def test_nothing_is_left_to_wait_for_after_synchronize(worker: Worker, running: Case) -> None:
    count = steps_in(worker, max(0.3, 2 * settle_seconds(worker, running)))
    for _ in range(ATTEMPTS):
        left, blocks = [], []
        for _ in range(REPEATS):
            blocks.append(worker.run(count).nanoseconds[0] / 1e9)
            first, idle = settle_seconds(worker, running), settle_seconds(worker, running)
            left.append(first - idle)  # both at once: a disturbance seldom hits one of them alone
        if median(left) <= LEFT_OVER * median(blocks):
            return
    pytest.fail(
        f"{count} steps were timed as {median(blocks):.3g} s, and {median(left):.3g} s of work "
        "were left: synchronize does not wait for all that step enqueues"
    )
