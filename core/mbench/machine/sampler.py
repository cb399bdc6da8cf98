"""Samples the machine before and after a block, and once a second during it, from the parent."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import psutil

from mbench.machine import kernel, limits
from mbench.machine.pace import Paces, paces
from mbench.machine.processor_time import family, processor_seconds
from mbench.machine.records import Sample
from mbench.machine.standing import Move, Standings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mbench.contract.device import Accelerator

__all__ = ["Sampler", "Watch"]

FIRST_SECONDS = 0.1
EVERY_SECONDS = 1.0


@dataclass
class Watch:
    """The samples of one machine during one block."""

    cores: int
    """Cores that the worker may use."""
    host: str = ""
    """Empty for this machine."""
    samples: list[Sample] = field(default_factory=list)
    threads: int = 0
    """Threads that the worker has; 0 if unknown."""
    moves: list[Move] = field(default_factory=list)
    """Moves of its threads since the previous block."""


class Sampler:
    """Takes samples; each takes half a millisecond to one millisecond of the parent's time.

    Counters are read before the worker is asked for its block and after it has answered, so most
    samples are outside the timed interval. A thread has to read gauges during the block: the clock
    of an idle machine before and after it is meaningless. The thread samples once a second, however
    many blocks that second contains.
    """

    def __init__(self, *, gpu: Accelerator | None = None) -> None:
        self.gpu = gpu
        self._joules = kernel.Joules()
        self._standings = Standings()
        self._due = 0.0  # when the next sample within a block is due

    def paces(self) -> Paces:
        """The paces of the current core and of memory. No worker may run meanwhile."""
        return paces()

    @contextmanager
    def watching(self, pids: Sequence[int]) -> Iterator[Watch]:
        """Sample the machine while a block of a worker with these processes runs."""
        processes = [process for pid in pids for process in family(pid)]
        watch = Watch(cores=0)
        watch.moves += self.moves(pids, within=False)
        cores = sorted({core for pid in pids for core in kernel.cores_of(pid)})
        watch.cores, watch.threads = len(cores), self._standings.threads(pids)
        over = threading.Event()

        def look() -> None:
            watch.samples.append(self.sample(processes, cores))

        def keep_looking() -> None:
            wait = max(FIRST_SECONDS, self._due - time.monotonic())
            while not over.wait(wait):
                look()
                watch.moves += self.moves(pids, within=True)
                wait = EVERY_SECONDS
                self._due = time.monotonic() + wait

        thread = threading.Thread(target=keep_looking, name="telemetry", daemon=True)
        look()
        thread.start()
        try:
            yield watch
        finally:
            over.set()
            thread.join()
            look()
            watch.moves += self.moves(pids, within=True)

    def moves(self, pids: Sequence[int], *, within: bool) -> list[Move]:
        """What others have changed about how the workers may run since the last look."""
        return [one for pid in pids for one in self._standings.look(pid, within=within)]

    def sample(self, processes: list[psutil.Process], cores: list[int]) -> Sample:
        """The machine's current state, for a worker of `processes` that may use `cores`."""
        busy, stolen = kernel.core_seconds(cores)
        return Sample(
            at_nanoseconds=time.perf_counter_ns(),
            busy_seconds=round(busy, 3),
            stolen_seconds=round(stolen, 3),
            worker_seconds=round(processor_seconds(processes), 3),
            available_bytes=psutil.virtual_memory().available,
            throttled_seconds=limits.throttled_seconds(),
            cpu_stalled_seconds=kernel.stalled_seconds("cpu"),
            memory_stalled_seconds=kernel.stalled_seconds("memory"),
            io_stalled_seconds=kernel.stalled_seconds("io"),
            swapped_bytes=kernel.swapped_bytes(),
            page_faults=kernel.page_faults(process.pid for process in processes),
            mhz=kernel.clock_mhz(cores),
            joules=self._joules(),
            gpu=self.gpu.sample([one.pid for one in processes]) if self.gpu else None,
        )
