"""The loop by which cores are compared with themselves."""

from __future__ import annotations

import time

from mbench.telemetry import pace as module
from mbench.telemetry.pace import LOOPS, loop_nanoseconds, pace


def test_it_is_the_usual_loop_and_not_one_that_was_held_up(monkeypatch):
    loops = iter([900, 800, *[100] * (LOOPS - 4), 50, 60])
    monkeypatch.setattr(module, "loop_nanoseconds", lambda: next(loops))
    assert pace() == 100
    assert next(loops, None) is None


def test_others_turns_on_the_core_do_not_count(monkeypatch):
    clock = iter([5, 105])
    monkeypatch.setattr(time, "thread_time_ns", lambda: next(clock))
    assert loop_nanoseconds() == 100


def test_it_takes_some_milliseconds_and_no_more():
    begin = time.thread_time()
    assert pace() > 0
    assert 0.0002 < time.thread_time() - begin < 0.05
