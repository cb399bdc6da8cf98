"""Memory: what workers may take, and who is stopped from taking more."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from mbench.engine import memory
from mbench.engine.memory import MemoryWatch, worker_limit_bytes

HOG = """
import os, sys, time, mmap
os.setpgid(0, 0)
print("up", flush=True)
held = mmap.mmap(-1, int(sys.argv[1]))  # shared: no limit on a process's data counts it
for at in range(0, len(held), 4096):
    held[at] = 1
    if at % 2**22 == 0:
        time.sleep(0.01)
time.sleep(60)
"""


@pytest.fixture
def hog():
    """Starts a process that slowly takes `size` bytes of memory."""
    started = []

    def hog(size):
        process = subprocess.Popen(
            [sys.executable, "-c", HOG, str(size)], stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        assert process.stdout.readline() == "up\n"
        return process

    yield hog
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_worker_is_killed_at_its_limit_with_the_reason(hog):
    process = hog(400 * 2**20)
    with MemoryWatch([process.pid], limit_bytes=100 * 2**20) as watch:
        assert process.wait(60) == -9
    assert "its limit is 100 MiB" in watch.reason
    assert 100 * 2**20 < watch.largest_bytes < 250 * 2**20


def test_a_worker_is_killed_before_the_machine_has_nothing_left(hog, monkeypatch):
    process = hog(10 * 2**20)
    free = iter([10 * 2**30] * 3)
    monkeypatch.setattr(memory, "available_bytes", lambda: next(free, 2**20))
    with MemoryWatch([process.pid], limit_bytes=None) as watch:
        assert process.wait(60) == -9
    assert "which left 1 MiB for everything else" in watch.reason


def test_workers_on_other_machines_do_not_depend_on_the_memory_of_this_one(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 2**20)
    watch = MemoryWatch([], limit_bytes=2**30)
    watch.look()
    assert watch.reason == ""


def test_a_worker_within_its_limit_is_left_alone(hog):
    process = hog(2**20)
    with MemoryWatch([process.pid], limit_bytes=2**30) as watch:
        deadline = time.monotonic() + 60
        while not watch.largest_bytes:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    assert process.poll() is None
    assert watch.reason == ""


def test_a_process_that_is_gone_holds_nothing(hog):
    process = hog(2**20)
    process.kill()
    process.wait()
    with MemoryWatch([process.pid], limit_bytes=1) as watch:
        time.sleep(0.1)
    assert (watch.reason, memory.resident_bytes(process.pid)) == ("", 0)


def test_workers_share_what_is_free(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 1000)
    assert worker_limit_bytes(None) == 900
    assert worker_limit_bytes(None, workers=3) == 300
    assert worker_limit_bytes(200, workers=3) == 200
    assert worker_limit_bytes(400, workers=3) == 300


def test_this_process_holds_memory():
    assert memory.resident_bytes(os.getpid()) > 2**20
