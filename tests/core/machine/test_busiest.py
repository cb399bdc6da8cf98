"""Which programs use the processor."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from mbench.machine.doctor.busiest import Used, busiest, processor_times


def test_the_two_that_use_most_are_named():
    before = {1: Used("init", 5.0), 2: Used("cc1", 1.0), 3: Used("ld", 1.0)}
    after = {1: Used("init", 5.05), 2: Used("cc1", 1.5), 3: Used("ld", 2.0), 4: Used("new", 0.3)}
    assert busiest(before, after, 1.0) == "ld (process 3) 1.0, cc1 (process 2) 0.5"


def test_nothing_is_named_where_nothing_that_uses_a_tenth_of_a_core_can_be_seen():
    assert busiest({}, {}, 1.0) == ""
    assert busiest({1: Used("init", 5.0)}, {1: Used("init", 5.05)}, 1.0) == ""


def test_names_cannot_write_to_the_terminal():
    assert "\x1b" not in busiest({}, {9: Used("\x1b[31mred", 1.0)}, 1.0)


def test_a_real_program_is_seen_and_this_one_is_not():
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        before = processor_times()
        for _ in range(100):
            time.sleep(0.1)
            after = processor_times()
            if busy.pid in before and after[busy.pid].seconds > before[busy.pid].seconds:
                break
        assert after[busy.pid].seconds > before[busy.pid].seconds
        assert os.getpid() not in after
    finally:
        busy.kill()
        busy.wait()
