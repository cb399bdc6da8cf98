"""Runtimes for workers that misbehave in ways no framework should."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import mbench_tiny


class Parent(mbench_tiny.Runtime):
    """Has a child, whose process id it writes to the file that CHILD names."""

    def __init__(self, **settings):
        super().__init__(**settings)
        deaf = "import signal, time; signal.signal(signal.SIGHUP, signal.SIG_IGN); time.sleep(3600)"
        child = subprocess.Popen([sys.executable, "-c", deaf])
        file = Path(os.environ["CHILD"])
        file.with_suffix(".new").write_text(str(child.pid))
        file.with_suffix(".new").rename(file)


class HangingParent(Parent):
    """A Parent that never answers."""

    def describe(self):
        time.sleep(3600)


class Babbler(mbench_tiny.Runtime):
    """Writes the text in BABBLE to the pipe before its answer."""

    def describe(self):
        os.write(int(sys.argv[3]), os.environ["BABBLE"].encode())
        return super().describe()


class Liar(mbench_tiny.Runtime):
    """Writes the text in BABBLE to the pipe in each step, before its answer."""

    def prepare(self, work):
        model = super().prepare(work)
        model.step = lambda at: os.write(int(sys.argv[3]), os.environ["BABBLE"].encode())
        return model


class Stumbler(mbench_tiny.Runtime):
    """Ends, or goes astray, in the way that FAULT names."""

    def describe(self):
        getattr(self, os.environ["FAULT"])()
        time.sleep(3600)

    def real_time_signal(self):
        os.kill(os.getpid(), 40)

    def mute(self):
        os.close(int(sys.argv[3]))

    def exit(self):
        sys.exit(0)

    def interrupt(self):
        raise KeyboardInterrupt

    def own(self):
        class Enough(BaseException):
            pass

        raise Enough("it is")

    def want_memory(self):
        """Ends as OpenBLAS, which NumPy uses, does when memory does not suffice."""
        print("OpenBLAS error: Memory allocation still failed after 10 retries, giving up.")
        sys.exit(1)

    def leave_an_heir(self):
        """Dies and leaves a child, such as a data loader, that holds the pipe open."""
        if os.fork():
            os.kill(os.getpid(), signal.SIGKILL)

    def leave_the_group(self):
        os.setpgid(0, os.getpgid(os.getppid()))


class Flood(mbench_tiny.Runtime):
    """Writes one line that does not end."""

    def describe(self):
        while True:
            os.write(int(sys.argv[3]), b"x" * 2**16)


class Noisy(mbench_tiny.Runtime):
    """Litters stdout and stderr, as frameworks do, and leaves a thread behind."""

    def __init__(self, **settings):
        super().__init__(**settings)
        print('{"message":"Closed"}', flush=True)
        print("W0000 cannot find something", file=sys.stderr, flush=True)
        threading.Thread(target=time.sleep, args=(3600,)).start()


class Greedy(mbench_tiny.Runtime):
    """On the rank that GREEDY names, a step takes more memory than there is."""

    def prepare(self, work):
        model = super().prepare(work)
        if str(self.place.rank) == os.environ["GREEDY"]:
            model.step = lambda at: bytearray(2**50)
        return model


class Another(mbench_tiny.Runtime):
    """Reports a different version on each rank."""

    def describe(self):
        return replace(super().describe(), version=f"1.{self.place.rank}")
