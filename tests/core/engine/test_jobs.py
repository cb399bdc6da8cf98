"""Jobs side by side: each runs once, in the order given, and all end with their `with` block."""

from __future__ import annotations

import threading
import time

import pytest
from workers import PATIENCE, prepared

from mbench.contract import wire
from mbench.engine.jobs import look, thread_pool


def test_jobs_of_one_name_are_one():
    done = []
    with thread_pool(2) as jobs:
        first = jobs.once("a", lambda: done.append("first") or len(done))
        again = jobs.once("a", lambda: done.append("again"))
        other = jobs.once("b", lambda: "other")
        assert first is again
        assert (again.result(), other.result()) == (1, "other")
    assert done == ["first"]


def test_so_many_run_at_once():
    met = threading.Barrier(2, timeout=PATIENCE)
    with thread_pool(2) as jobs:
        both = [jobs.once(name, met.wait) for name in "ab"]
        assert sorted(one.result() for one in both) == [0, 1]


def test_the_first_ones_are_first():
    order = []
    with thread_pool(1) as jobs:
        for name in "abc":
            last = jobs.once(name, lambda name=name: order.append(name))
        last.result()
    assert order == ["a", "b", "c"]


def test_what_a_job_raises_is_raised_by_its_result():
    with thread_pool(1) as jobs, pytest.raises(ZeroDivisionError):
        jobs.once("a", lambda: 1 / 0).result()


def test_a_block_that_is_interrupted_ends_its_jobs():
    began = threading.Event()

    def endless():
        began.set()
        while True:
            look()
            time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt), thread_pool(1) as jobs:  # noqa: PT012
        running, waiting = jobs.once("a", endless), jobs.once("b", endless)
        began.wait(PATIENCE)
        raise KeyboardInterrupt
    assert isinstance(running.exception(), KeyboardInterrupt)
    assert waiting.cancelled()


def test_only_jobs_are_interrupted():
    with thread_pool(1):
        pass
    look()


def test_a_worker_that_a_job_waits_for_ends_with_it(start):
    began = threading.Event()
    workers = []

    def measured():
        worker = prepared(start())
        workers.append(worker)
        began.set()
        try:
            worker.ask(wire.TimeSteps(count=10**9, each=False), wire.Elapsed, timeout=PATIENCE)
        finally:
            worker.close()

    with pytest.raises(KeyboardInterrupt), thread_pool(1) as jobs:  # noqa: PT012
        running = jobs.once("a", measured)
        assert began.wait(PATIENCE)
        raise KeyboardInterrupt
    assert isinstance(running.exception(), KeyboardInterrupt)
    assert workers[0].process.returncode is not None
