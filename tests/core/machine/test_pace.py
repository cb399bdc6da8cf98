"""The small benchmarks by which a machine's speed is compared with its own at other times."""

from __future__ import annotations

import time

import pytest

from mbench.machine import pace as module
from mbench.machine.pace import (
    COPIED_BYTES,
    COPIES,
    LOOPS,
    Paces,
    buffers,
    core_pace,
    loop_nanoseconds,
    memory_pace,
    paces,
)


def test_it_is_the_usual_loop_and_not_one_that_was_held_up(monkeypatch):
    loops = iter([900, 800, *[100] * (LOOPS - 4), 50, 60])
    monkeypatch.setattr(module, "loop_nanoseconds", lambda: next(loops))
    assert core_pace() == 100
    assert next(loops, None) is None


def test_others_turns_on_the_core_do_not_count(monkeypatch):
    clock = iter([5, 105])
    monkeypatch.setattr(time, "thread_time_ns", lambda: next(clock))
    assert loop_nanoseconds() == 100


def test_it_is_the_fastest_copy(monkeypatch):
    copies = iter([900, 100, *[200] * (COPIES - 2)])
    monkeypatch.setattr(module, "copy_nanoseconds", lambda source, target: next(copies))
    assert memory_pace() == 100
    assert next(copies, None) is None


def test_as_many_bytes_are_copied_as_the_docs_say():
    source, target = buffers()
    assert len(source) == len(target) == COPIED_BYTES == 32 * 2**20
    assert buffers()[0] is source, "always the same pages"
    source[5] = 7
    try:
        assert module.copy_nanoseconds(source, target) > 0
        assert target[5] == 7
    finally:
        source[5] = 0


@pytest.mark.parametrize("look", [core_pace, memory_pace])
def test_it_takes_some_milliseconds_and_no_more(look):
    buffers()
    begin = time.thread_time()
    assert look() > 0
    assert 0.0002 < time.thread_time() - begin < 0.2


def test_both_are_told(monkeypatch):
    monkeypatch.setattr(module, "core_pace", lambda: 1)
    monkeypatch.setattr(module, "memory_pace", lambda: 2)
    assert paces() == Paces(core=1, memory=2)
