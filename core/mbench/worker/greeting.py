"""The first word of a worker, before it imports what its work takes: that it is there."""

from __future__ import annotations

import os
import platform

from mbench.contract import wire

__all__ = ["greet"]


def greet(write_fd: int) -> None:
    """Many ranks of a machine import side by side for long; all of them are there before that."""
    hello = wire.Hello(
        python=platform.python_version(), pid=os.getpid(), process_group=os.getpgrp()
    )
    os.write(write_fd, wire.encode(hello))
