"""Runtimes for workers that misbehave in ways no framework should."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import mbench_tiny


class Parent(mbench_tiny.Runtime):
    """Has a child, whose number it writes to the file that CHILD names."""

    def __init__(self, **settings):
        super().__init__(**settings)
        deaf = "import signal, time; signal.signal(signal.SIGHUP, signal.SIG_IGN); time.sleep(3600)"
        child = subprocess.Popen([sys.executable, "-c", deaf])
        file = Path(os.environ["CHILD"])
        file.with_suffix(".new").write_text(str(child.pid))
        file.with_suffix(".new").rename(file)


class HangingParent(Parent):
    """The same, and then never says a word."""

    def describe(self):
        time.sleep(3600)


class Babbler(mbench_tiny.Runtime):
    """Writes to the pipe what BABBLE says, before the answer."""

    def describe(self):
        os.write(int(sys.argv[3]), os.environ["BABBLE"].encode())
        return super().describe()


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
