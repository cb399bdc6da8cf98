"""The script that a framework's interpreter runs; it makes the parent's own code importable.

Nothing of mbench is installed next to a framework. The parent says where `mbench` and the adapter
are, and only those packages are taken from there. So a worker always runs exactly the parent's
code, and mbench's dependencies never conflict with a framework's.

Usage: python bootstrap.py PARENT_PID READ_FD WRITE_FD '{"package": "file of its top level", ...}'
       python bootstrap.py probe '{"package": "file of its top level", ...}' MODULE...

The second prints what an interpreter has, as one line of JSON: see worker/probe.py.
"""

from __future__ import annotations

import ctypes
import importlib.machinery
import importlib.util
import json
import os
import signal
import sys


class Located:
    """Finds the packages whose files are known, before sys.path is searched."""

    def __init__(self, files: dict[str, str]) -> None:
        self.files = files

    def find_spec(
        self, name: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        file = self.files.get(name)
        if file is None:
            return None
        package = os.path.basename(file) == "__init__.py"
        return importlib.util.spec_from_file_location(
            name, file, submodule_search_locations=[os.path.dirname(file)] if package else None
        )


def die_with(parent: int) -> None:
    """Be killed when the parent ends, even while stopped; exit at once if it has ended already.

    A process group of our own lets the parent stop and kill us with all our children. The signal
    only reaches us, so the parent's watcher (machine/process_tree.py) ends children that are left
    when the parent is gone.
    """
    os.setpgid(0, 0)
    if sys.platform == "linux":
        set_parent_death_signal = 1  # PR_SET_PDEATHSIG of <linux/prctl.h>
        ctypes.CDLL(None, use_errno=True).prctl(set_parent_death_signal, signal.SIGKILL)
        try:
            with open("/proc/self/oom_score_adj", "w") as file:
                file.write("1000")  # running out of memory kills the worker, not a bystander
        except OSError:
            pass
    if os.getppid() != parent:
        os._exit(1)


if __name__ == "__main__":
    probing = sys.argv[1] == "probe"
    if not probing:
        parent, read_fd, write_fd = (int(argument) for argument in sys.argv[1:4])
        die_with(parent)
        for before_the_end in (signal.SIGUSR1, signal.SIGUSR2):
            # Batch systems send them to each process before a time limit. mbench's own process then
            # ends the run; a worker killed by them would count as a failure.
            signal.signal(before_the_end, signal.SIG_IGN)
    ours = os.path.dirname(os.path.abspath(__file__))
    if sys.path and sys.path[0] == ours:  # not under PYTHONSAFEPATH
        sys.path.pop(0)  # this script's folder holds modules of ours, not top-level ones
    sys.meta_path.insert(0, Located(json.loads(sys.argv[2 if probing else 4])))

    from mbench.contract.compat import CHECKS

    if not CHECKS:
        from mbench.worker.compat import teach

        teach()

    if probing:
        from mbench.worker.probe import probe

        probe(sys.argv[3:])
        sys.exit()

    from mbench.worker.greeting import greet

    greet(write_fd)

    from mbench.worker.session import serve

    serve(read_fd, write_fd)
