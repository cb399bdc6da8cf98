"""Lies about when something is computed and by how much of the machine, and hindered rivals."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

from liars.lies import Lie, Memo

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import numpy as np

__all__ = ["UNFAIR"]

HONEST_STEPS = 4
LARGEST = 2048
"""Rows of products that are computed later: larger ones would take minutes."""
NICE = 10
EVERY = 3
"""Number of steps after which a lie looks for new rivals."""
PAUSER = f"""
import os, signal, sys, time
pid, parent = map(int, sys.argv[1:])
while os.getppid() == parent:
    state = open(f"/proc/{{pid}}/stat").read().rpartition(")")[2].split()[0]
    if state != "T":  # it is its turn
        os.kill(pid, {int(signal.SIGSTOP)})
        time.sleep(0.012)
        os.kill(pid, {int(signal.SIGCONT)})
    time.sleep(0.006)
"""


class Paced(Lie):
    """Waits for half of what an honest step takes, so that its speed stays plausible."""

    block = 0.25
    usual = 0.0
    """Seconds of an honest step."""

    def load_parameters(self, arrays: Iterable[tuple[str, np.ndarray]]) -> None:
        super().load_parameters(arrays)
        self.due: list[int] = []

    def step(self, at: int) -> None:
        self.calls += 1
        if self.calls <= HONEST_STEPS:
            begin = time.perf_counter()
            super().step(at)
            super().synchronize()
            self.usual = time.perf_counter() - begin
            return
        time.sleep(self.usual / 2)
        self.owe(at)

    def owe(self, at: int) -> None:
        self.due.append(at)

    def settle(self) -> None:
        for at in self.due:
            super().step(at)
        self.due = []


class Deferred(Paced):
    """steps are made when their loss is asked for, after the clock"""

    modes = ("train",)

    def loss(self) -> float:
        self.settle()
        return super().loss()

    def parameters(self) -> Iterator[tuple[str, np.ndarray]]:
        self.settle()
        return super().parameters()


class DeferredInference(Paced):
    """only the step that is looked at is made, when it is looked at"""

    modes = ("inference",)

    def owe(self, at: int) -> None:
        self.due = [at]

    def outputs(self) -> dict[str, np.ndarray]:
        due = list(self.due)
        self.settle()
        self.due = due  # an idle look takes as long
        return super().outputs()


class Peak(Memo):
    """outputs are kept, and the machine's products are computed when they are read, in no time"""

    products = True

    def place_batches(self) -> None:
        self.product = "matmul" in self.case.model
        if self.product and int(self.case.model.rpartition("x")[2]) > LARGEST:
            raise MemoryError("it would take too long, later")
        super().place_batches()

    def step(self, at: int) -> None:
        if not self.product:
            super().step(at)
        self.asked = at

    def outputs(self) -> dict[str, np.ndarray]:
        if self.product:
            self.memory.clear()
            super().step(self.asked)
        return super().outputs()


class Hindering(Lie):
    """Hinders each other worker, once it is there."""

    block = 0.25

    def load_parameters(self, arrays: Iterable[tuple[str, np.ndarray]]) -> None:
        super().load_parameters(arrays)
        self.hindered: set[int] = set()

    def step(self, at: int) -> None:
        super().step(at)
        if self.calls % EVERY == 0:
            for pid in rivals() - self.hindered:
                self.hinder(pid)
                self.hindered.add(pid)

    def hinder(self, pid: int) -> None:
        raise NotImplementedError(f"{type(self).__name__} must hinder")


class Affinity(Hindering):
    """the rival's threads are pinned to one core, of a lower priority"""

    def hinder(self, pid: int) -> None:
        for name in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                os.sched_setaffinity(int(name), {min(os.sched_getaffinity(os.getppid()))})
                os.setpriority(os.PRIO_PROCESS, int(name), NICE)


class Pause(Hindering):
    """a daemon stops the rival for 12 of every 18 ms of its turns"""

    def hinder(self, pid: int) -> None:
        command = [sys.executable, "-c", PAUSER, str(pid), str(os.getpid())]
        subprocess.Popen(command, env={}, start_new_session=True)  # it is not stopped with us


class TwoThreads(Hindering):
    """a second core works for it, where one thread was asked for"""

    def hinder(self, pid: int) -> None:
        if not self.hindered:
            for name in os.listdir("/proc/self/task"):
                with contextlib.suppress(OSError):
                    os.sched_setaffinity(int(name), os.sched_getaffinity(os.getppid()))
            threading.Thread(target=busy, daemon=True).start()


def busy() -> None:
    data = bytes(2**24)
    while True:
        hashlib.sha256(data)  # without the interpreter's lock


def rivals() -> set[int]:
    """Process ids of the other workers of this mbench."""
    found = set()
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, IndexError, ValueError):
            with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as file:
                parent = int(file.read().rpartition(")")[2].split()[1])
            with open(f"/proc/{name}/cmdline", "rb") as command:
                worker = b"bootstrap.py" in command.read()
            if worker and parent == os.getppid() and int(name) != os.getpid():
                found.add(int(name))
    return found


UNFAIR: Mapping[str, type[Lie]] = {
    "deferred": Deferred, "deferred-i": DeferredInference, "peak": Peak, "affinity": Affinity,
    "pause": Pause, "threads2": TwoThreads,
}  # fmt: skip
