"""Runs a module in an environment's Python so that it does not outlive mbench.

Usage: python orphanless.py PARENT_PID MODULE ARGUMENT...
"""

from __future__ import annotations

import ctypes
import os
import runpy
import signal
import sys

if __name__ == "__main__":
    parent, module = int(sys.argv[1]), sys.argv[2]
    if sys.platform == "linux":
        set_parent_death_signal = 1  # PR_SET_PDEATHSIG of <linux/prctl.h>
        ctypes.CDLL(None, use_errno=True).prctl(set_parent_death_signal, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)
    sys.argv = sys.argv[2:]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
