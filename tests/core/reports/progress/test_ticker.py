"""Something moves now and then, and never while a block is timed."""

from __future__ import annotations

import threading
import time

import pytest

from mbench.reports.progress.reporter import Ticker

EVERY = 0.01
PATIENCE = 20.0


@pytest.fixture
def ticks():
    return []


@pytest.fixture
def ticker(ticks):
    ticked = threading.Event()

    def tick():
        ticks.append(threading.current_thread().name)
        ticked.set()

    made = Ticker(tick, every_seconds=EVERY)
    made.ticked = ticked
    yield made
    made.stop()


def test_it_ticks_by_itself(ticker, ticks):
    ticker.start()
    assert ticker.ticked.wait(PATIENCE)
    assert ticks[0] == "progress"


def test_nothing_is_called_while_it_is_held_and_what_fell_due_right_after(ticker, ticks):
    ticker.start()
    with ticker.holding():
        before = len(ticks)
        time.sleep(5 * EVERY)
        ticker.now()
        ticker.if_due()
        assert len(ticks) == before
    assert len(ticks) > before


def test_a_thread_that_waits_for_the_end_of_a_block_takes_no_processor_time(ticker):
    ticker.start()
    with ticker.holding():
        time.sleep(2 * EVERY)  # it waits for the lock by now
        used = time.process_time()
        time.sleep(0.5)
        assert time.process_time() - used < 0.05


def test_without_a_thread_nothing_falls_due(ticker, ticks):
    with ticker.holding():
        time.sleep(2 * EVERY)
    assert ticks == []


def test_it_may_be_stopped_twice_and_started_again(ticker, ticks):
    ticker.start()
    ticker.stop()
    ticker.stop()
    count = len(ticks)
    time.sleep(3 * EVERY)
    assert len(ticks) == count
    ticker.ticked.clear()
    ticker.start()
    assert ticker.ticked.wait(PATIENCE)
