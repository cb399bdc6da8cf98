"""Watching real processes; the bounds on figures hold on a busy machine too."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from mbench.machine import sampler as module
from mbench.machine.processor_time import family, processor_seconds
from mbench.machine.sampler import Sampler
from mbench.machine.usage import usage

BUSY = "while True: pass"
PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BUSY!r}])"


@pytest.fixture
def run():
    """Starts Python code in a process of its own, which ends with the test."""
    started = []

    def run(code: str) -> int:
        started.append(subprocess.Popen([sys.executable, "-c", code], start_new_session=True))
        return started[-1].pid

    yield run
    for process in started:
        for member in family(process.pid):
            member.kill()
        process.wait()


def wait_until(true, *, seconds=120):
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_samples_are_taken_before_after_and_in_between(run, monkeypatch):
    monkeypatch.setattr(module, "FIRST_SECONDS", 0.05)
    pid = run(BUSY)
    with Sampler().watching([pid]) as watch:
        assert len(watch.samples) == 1
        wait_until(lambda: len(watch.samples) > 1)
    times = [sample.at_nanoseconds for sample in watch.samples]
    assert times == sorted(times)
    assert len(times) >= 3
    assert watch.cores >= 1


def test_short_blocks_share_the_looks_in_between(run, monkeypatch):
    monkeypatch.setattr(module, "FIRST_SECONDS", 0.01)
    monkeypatch.setattr(module, "EVERY_SECONDS", 1000.0)
    pid, sampler = run(BUSY), Sampler()
    with sampler.watching([pid]) as first:
        wait_until(lambda: len(first.samples) > 1)
    with sampler.watching([pid]) as second:
        time.sleep(0.3)
    assert (len(first.samples), len(second.samples)) == (3, 2)


def test_a_block_that_fails_is_watched_to_its_end(run):
    with pytest.raises(RuntimeError), Sampler().watching([run(BUSY)]) as watch:
        raise RuntimeError
    assert len(watch.samples) == 2


def test_the_workers_time_is_its_own_and_its_childrens(run):
    pid = run(PARENT)
    wait_until(lambda: len(family(pid)) == 2)
    members = family(pid)
    before = processor_seconds(members)
    wait_until(lambda: processor_seconds(members) - before > 0.3)
    assert processor_seconds(members[:1]) < processor_seconds(members)


def test_a_worker_that_has_gone_is_no_error():
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    with Sampler().watching([gone.pid]) as watch:
        pass
    assert [sample.worker_seconds for sample in watch.samples] == [0, 0]


def test_the_worker_is_not_counted_among_the_others(run):
    """Next to nothing of what a watched busy process uses may be counted as others' use.

    Others do run here, so the sum of both is compared with the number of cores.
    """
    pid = run(BUSY)
    wait_until(lambda: processor_seconds(family(pid)) > 0.2)
    with Sampler().watching([pid]) as watch:
        members = family(pid)
        before = processor_seconds(members)
        wait_until(lambda: processor_seconds(members) - before > 0.5)
    seen = usage(watch.samples)
    assert seen.worker_cores > 0
    assert seen.worker_cores + seen.other_cores <= watch.cores + 0.1


def test_others_are_seen(run):
    worker, other = run("import time; time.sleep(3600)"), run(BUSY)
    members = family(other)
    wait_until(lambda: processor_seconds(members) > 0.2)
    with Sampler().watching([worker]) as watch:
        before = processor_seconds(members)
        begin = time.monotonic()
        wait_until(lambda: processor_seconds(members) - before > 0.5)
        used = 0.5 / (time.monotonic() - begin)
    seen = usage(watch.samples)
    assert seen.other_cores > 0.7 * used
    assert seen.worker_cores < 0.1
