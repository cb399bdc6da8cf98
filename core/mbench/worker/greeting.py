"""A worker's first message, sent before it imports what its work needs: that it is running."""

from __future__ import annotations

import os
import platform

from mbench.contract import wire

__all__ = ["greet"]


def greet(write_fd: int) -> None:
    """Send Hello early: many ranks on a machine take long to import side by side."""
    hello = wire.Hello(
        python=platform.python_version(), pid=os.getpid(), process_group=os.getpgrp()
    )
    os.write(write_fd, wire.encode(hello))
