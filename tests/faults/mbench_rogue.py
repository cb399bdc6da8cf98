"""Made-up frameworks that misbehave on demand: each fault is a framework, named after it.

"rogue.kill" computes what tiny does until its second step, in which it does what `kill` below does.
The methods of `Early` run when the framework is imported, before it is described.
"""

from __future__ import annotations

import os
import pathlib
import re
import signal
import subprocess
import sys
import time

from mbench_tiny import Runtime, Tiny
from mbench_tiny_flaky import FlakyModel

from mbench.plugins.hooks import hookimpl

ELAPSED = '{"message":"Elapsed","start_nanoseconds":1,"nanoseconds":%s}\n'
FAILURE = '{"message":"Failure","outcome":"%s","reason":"made up"}\n'
SAID = {
    "says_garbage": "\x00\xff warming up...\n",
    "says_nan": ELAPSED % "[NaN]",
    "says_infinity": ELAPSED % "[Infinity]",
    "says_a_fraction": ELAPSED % "[1.5]",
    "says_a_negative_time": ELAPSED % "[-5]",
    "says_no_time": ELAPSED % "[0]",
    "says_nothing_at_all": ELAPSED % "[]",
    "says_too_many_times": ELAPSED % "[7,7]",
    "says_4000_digits": ELAPSED % f"[{'9' * 4000}]",
    "says_5000_digits": ELAPSED % f"[{'9' * 5000}]",
    "says_ages": ELAPSED % f"[{10**30}]",
    "says_it_went_well": FAILURE % "ok",
    "says_it_is_unequal": FAILURE % "not-equal",
    "says_it_deeply": "[" * 100_000 + "\n",
}
SLEEPER = "import signal, time; signal.signal(signal.SIGHUP, signal.SIG_IGN); time.sleep(600)"


def child(**options):
    return subprocess.Popen([sys.executable, "-c", SLEEPER], **options)


class Faults:
    """What a step does, by name."""

    def none(self):
        pass

    def kill(self):
        os.kill(os.getpid(), signal.SIGKILL)

    def segfault(self):
        os.kill(os.getpid(), signal.SIGSEGV)

    def abort(self):
        os.abort()

    def real_time_signal(self):
        os.kill(os.getpid(), 40)

    def stop_itself(self):
        os.kill(os.getpid(), signal.SIGSTOP)

    def hold_the_interpreter(self):
        re.match(r"(a+)+$", "a" * 64 + "b")

    def close_the_replies(self):
        os.close(int(sys.argv[3]))
        time.sleep(600)

    def close_the_requests(self):
        os.close(int(sys.argv[2]))

    def go_on_twice(self):
        """Forks a child that goes on like its parent, and answers, too."""
        os.fork()

    def exit(self):
        sys.exit(0)

    def interrupt(self):
        raise KeyboardInterrupt

    def raise_an_error(self):
        raise RuntimeError("lost its mind")

    def raise_its_own(self):
        raise type("Enough", (BaseException,), {})("it is enough")

    def leave_a_child(self):
        child()

    def leave_an_heir(self):
        """Leaves a forked child that holds the pipe, as a data loader does."""
        if os.fork() == 0:
            time.sleep(600)
        self.kill()

    def leave_a_session(self):
        child(start_new_session=True)

    def leave_a_daemon(self):
        """Forks twice, so that the daemon is nobody's child."""
        if (first := os.fork()) == 0:
            os.setsid()
            child()
            os._exit(0)
        os.waitpid(first, 0)

    def leave_a_daemon_and_die(self):
        self.leave_a_daemon()
        self.kill()

    def leave_the_group(self):
        os.setpgid(0, os.getpgid(os.getppid()))
        time.sleep(600)

    def say_a_long_line_and_die(self):
        for _ in range(20):
            os.write(1, b"x" * 2**20)
        os.write(1, b" last words\n")
        self.kill()

    def flood(self):
        until = time.monotonic() + 1.5
        while time.monotonic() < until:
            os.write(1, b"a warning that nobody reads\n" * 2000)
            time.sleep(0.001)
        os.write(1, b"that was all\n")
        self.kill()

    def drip(self):
        """Sends an answer that comes byte by byte and never ends."""
        while True:
            os.write(int(sys.argv[3]), b"1")
            time.sleep(0.05)

    def babble_on(self):
        """Writes to stdout, where nobody expects an answer."""
        while True:
            print('{"message":"Closed"}', flush=True)
            time.sleep(0.05)

    def ignore_signals(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGTSTP):
            signal.signal(number, signal.SIG_IGN)
        time.sleep(600)

    def wait_for_the_test(self):
        """Waits until the file that TEST_GO names exists; creates one beside it to say so."""
        go = pathlib.Path(os.environ["TEST_GO"])
        go.with_suffix(".waiting").touch()
        while not go.exists():
            time.sleep(0.05)

    def eat_memory(self):
        held = []
        while True:
            held.append(b"x" * 2**24)


class Early:
    """What the import of the framework does, by name."""

    def lacks_a_library(self):
        raise ImportError("libmade_up.so.3: cannot open shared object file")

    def flood_the_replies(self):
        while True:
            os.write(int(sys.argv[3]), b"x" * 2**16)


def names(kind):
    return [name for name in vars(kind) if not name.startswith("_")]


class Rogue(Tiny):
    """Tiny, with a fault that its worker reads from a variable."""

    runtime = "mbench_rogue:RogueRuntime"

    def __init__(self, fault):
        self.name = f"rogue.{fault}"
        self.title = f"Rogue ({fault})"
        self.fault = fault

    def variables(self, *, threads, device):
        return {"ROGUE": self.fault}

    def model_file(self, workload):
        return "mbench_tiny"


class RogueRuntime(Runtime):
    """Has its fault at the second step, or at once."""

    steps = 0

    def set_up(self):
        super().set_up()
        self.fault = os.environ["ROGUE"]
        self.adapter = Rogue(self.fault)
        if self.fault in names(Early):
            getattr(Early(), self.fault)()

    def prepare(self, work):
        self.benchmark = FlakyModel
        model = super().prepare(work)
        model.tell("", self.before_step)
        return model

    def before_step(self):
        self.steps += 1
        if self.steps != 2:
            return
        if self.fault in SAID:
            os.write(int(sys.argv[3]), SAID[self.fault].encode("latin-1"))
        elif self.fault in names(Faults):
            getattr(Faults(), self.fault)()


@hookimpl
def mbench_adapters():
    return [Rogue(fault) for fault in (*names(Faults), *names(Early), *SAID)]
