"""How flaky cheats where it is timed: work after the clock stops, forged products, hindered rivals.

deferred: steps are computed when their result is read, and take longer then. forged: matrix
products are computed when they are read, so that their steps take no time. pinned: other workers
get one core and a low priority. paused: they are stopped most of the time. wider: it takes more
cores than it was given.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import sys
import threading
import time

from mbench_tiny import TINY, Model

PACE_SECONDS = 0.002
OWED_SECONDS = 0.004
"""Processor time of a deferred step, beyond its own. A busy machine makes pauses longer, and so
blocks have fewer steps.
"""
LARGEST = 1024
"""How many rows forged products have: they are computed all the same, later."""
PAUSER = """
import os, signal, sys, time
pid, parent = map(int, sys.argv[1:])
while os.getppid() == parent:
    state = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0]
    if state != "T":  # mbench lets it run
        os.kill(pid, signal.SIGSTOP)
        time.sleep(0.006)
        os.kill(pid, signal.SIGCONT)
    time.sleep(0.003)
"""
NICE = 19
EVERY = 20
"""After so many steps, it looks for others again."""
UNFAIR = ("deferred", "forged", "pinned", "paused", "wider")


def others():
    """Process ids of the other workers of this mbench."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, IndexError, ValueError):
            with open(f"/proc/{name}/stat") as file:
                parent = int(file.read().rpartition(")")[2].split()[1])
            with open(f"/proc/{name}/cmdline", "rb") as file:
                worker = b"bootstrap.py" in file.read()
            if worker and parent == os.getppid() and int(name) != os.getpid():
                found.append(int(name))
    return found


def pin(pid):
    """Pin all threads of a process to one core, and lower their priority."""
    for name in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError):
            os.sched_setaffinity(int(name), {max(os.sched_getaffinity(os.getppid()))})
            os.setpriority(os.PRIO_PROCESS, int(name), NICE)


def pause(pid):
    """Stop a process again and again as long as we live, by a process without our mark, which is
    not stopped with us.
    """
    command = [sys.executable, "-c", PAUSER, str(pid), str(os.getpid())]
    subprocess.Popen(command, env={}, start_new_session=True)


def widen():
    for name in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(name), os.sched_getaffinity(os.getppid()))
    threading.Thread(target=burn, daemon=True).start()


def owe():
    end = time.thread_time() + OWED_SECONDS
    while time.thread_time() < end:
        pass


def burn():
    data = bytes(2**24)
    while True:
        hashlib.sha256(data)  # without the interpreter's lock


class UnfairModel(Model):
    """Tells `lie` about tiny's model, and about operators if the lie is about these."""

    def tell(self, lie):
        is_model = self.workload.name == TINY.name
        self.lie, self.made, self.due, self.hindered = lie, 0, [], set()
        self.late = lie == "deferred" and is_model
        self.forged = lie == "forged" and "matmul" in self.case.model
        if self.forged and str(LARGEST) not in self.case.model:
            raise MemoryError("it would take too long, later")

    def step(self, at):
        self.made += 1
        if self.forged:
            self.due = [at]
        elif self.late:
            time.sleep(PACE_SECONDS)
            self.due.append(at)
        else:
            super().step(at)
        if self.made % EVERY == 0:
            self.hinder()

    def hinder(self):
        """Hinder other workers that are new; if wider, take more cores once."""
        if self.lie in ("pinned", "paused"):
            for pid in set(others()) - self.hindered:
                (pin if self.lie == "pinned" else pause)(pid)
                self.hindered.add(pid)
        elif self.lie == "wider" and not self.hindered:
            widen()
            self.hindered.add(os.getpid())

    def settle(self):
        for at in self.due:
            super().step(at)
            if self.late:
                owe()
        if self.late:
            self.due = []

    def loss(self):
        self.settle()
        return super().loss()

    def outputs(self):
        self.settle()
        return super().outputs()

    def parameters(self):
        self.settle()
        return super().parameters()

    def load_parameters(self, arrays):
        self.due = []
        super().load_parameters(arrays)
