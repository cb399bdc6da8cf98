"""How often a process is stopped while it is timed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from mbench.worker.clock import time_steps
from mbench.worker.stops import continued, count_stops

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")

STOPPED = """
import os, signal, subprocess, sys
subprocess.run([sys.executable, "-c", f'''
import os, signal
os.kill({os.getpid()}, signal.SIGSTOP)
while open("/proc/{os.getpid()}/stat").read().rpartition(")")[2].split()[0] != "T":
    pass
os.kill({os.getpid()}, signal.SIGCONT)
'''])
"""


@pytest.fixture
def counting():
    before = signal.getsignal(signal.SIGCONT)
    count_stops()
    yield
    signal.signal(signal.SIGCONT, before)


def test_a_step_in_which_nobody_is_stopped(counting):
    os.kill(os.getpid(), signal.SIGCONT)  # as mbench does before a turn
    before = continued()
    assert before
    assert time_steps(lambda: None, lambda: None, count=3).stops == 0


def test_stops_within_the_clock_are_counted_and_those_before_it_are_not(counting):
    def step():
        os.kill(os.getpid(), signal.SIGCONT)

    assert time_steps(step, lambda: None, count=3, lead=2).stops == 3
    assert time_steps(step, lambda: None, count=2, each=True).stops == 2


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="there is no /proc")
def test_who_really_is_stopped_knows_it():
    code = (
        "from mbench.worker.stops import continued, count_stops\n"
        f"count_stops()\nexec({STOPPED!r})\nprint(continued())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"
