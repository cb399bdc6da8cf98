"""Samples the machine before, after and once a second during a block, from the parent's side."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import psutil

from mbench.machine import cgroup, kernel
from mbench.machine.pace import Paces, paces
from mbench.machine.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mbench.contract.device import Accelerator

__all__ = ["Sampler", "Watch"]

FIRST_SECONDS = 0.1
EVERY_SECONDS = 1.0


@dataclass
class Watch:
    """What was seen of one machine during one block: `cores` that the worker may use, and the
    samples.
    """

    cores: int
    host: str = ""
    """Empty for this machine."""
    samples: list[Sample] = field(default_factory=list)


class Sampler:
    """Looks at the machine; one look costs the parent half a millisecond to one.

    The counters are read before the worker is asked for its block and after it has answered, so
    that most looks fall outside of what is timed. A thread looks in between, for the gauges: the
    clock of a machine that idles, before and after, says nothing of the block. That is once a
    second, however many blocks there are in it.
    """

    def __init__(self, *, gpu: Accelerator | None = None) -> None:
        self.gpu = gpu
        self._joules = kernel.Joules()
        self._due = 0.0  # when the next look within a block is

    def paces(self) -> Paces:
        """Of our core and of memory. No worker may run meanwhile."""
        return paces()

    @contextmanager
    def watching(self, pids: Sequence[int]) -> Iterator[Watch]:
        """Sample the machine while a block of a worker with these processes runs."""
        cores = sorted({core for pid in pids for core in kernel.cores_of(pid)})
        processes = [process for pid in pids for process in family(pid)]
        watch = Watch(cores=len(cores))
        over = threading.Event()

        def look() -> None:
            watch.samples.append(self.sample(processes, cores))

        def go_on() -> None:
            wait = max(FIRST_SECONDS, self._due - time.monotonic())
            while not over.wait(wait):
                look()
                wait = EVERY_SECONDS
                self._due = time.monotonic() + wait

        thread = threading.Thread(target=go_on, name="telemetry", daemon=True)
        look()
        thread.start()
        try:
            yield watch
        finally:
            over.set()
            thread.join()
            look()

    def sample(self, processes: list[psutil.Process], cores: list[int]) -> Sample:
        """The machine now, for a worker of `processes` that may use `cores`."""
        busy, stolen = kernel.core_seconds(cores)
        return Sample(
            at_nanoseconds=time.perf_counter_ns(),
            busy_seconds=round(busy, 3),
            stolen_seconds=round(stolen, 3),
            worker_seconds=round(processor_seconds(processes), 3),
            available_bytes=psutil.virtual_memory().available,
            throttled_seconds=cgroup.throttled_seconds(),
            cpu_stalled_seconds=kernel.stalled_seconds("cpu"),
            memory_stalled_seconds=kernel.stalled_seconds("memory"),
            io_stalled_seconds=kernel.stalled_seconds("io"),
            swapped_bytes=kernel.swapped_bytes(),
            page_faults=kernel.page_faults(process.pid for process in processes),
            mhz=kernel.clock_mhz(cores),
            joules=self._joules(),
            gpu=self.gpu.sample([one.pid for one in processes]) if self.gpu else None,
        )


def family(pid: int) -> list[psutil.Process]:
    """A process and all its descendants; empty where it has ended."""
    try:
        worker = psutil.Process(pid)
        return [worker, *worker.children(recursive=True)]
    except psutil.Error:
        return []


def processor_seconds(processes: list[psutil.Process]) -> float:
    """Processor time of `processes`, and of children of theirs that have ended."""
    total = 0.0
    for process in processes:
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue  # it has ended, and its time is among its parent's
        total += times.user + times.system + times.children_user + times.children_system
    return total
