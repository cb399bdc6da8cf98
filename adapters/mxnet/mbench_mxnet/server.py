"""The script with which a rank starts MXNet's scheduler or one of its servers, as DMLC_ROLE says.

Usage: python server.py PID_OF_THE_RANK
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    folder = sys.path.pop(0)  # its modules are ours, not top-level ones

    import ctypes
    import os
    import signal

    if sys.platform == "linux":
        set_parent_death_signal = 1  # PR_SET_PDEATHSIG of <linux/prctl.h>
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)
    if os.getppid() != int(sys.argv[1]):
        os._exit(1)

    sys.path.insert(0, folder)
    import libraries  # type: ignore[import-not-found]  # of this folder

    sys.path.pop(0)
    libraries.load_cuda()

    import mxnet  # noqa: F401  (it serves until the ranks are done, and leaves)
