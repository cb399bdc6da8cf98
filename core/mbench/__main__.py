"""Entry point of `mbench` and `python -m mbench`: Ctrl-C prints one line, even during imports."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import NoReturn

__all__ = ["main"]


INSPECT = "PYTHONINSPECT"


def main() -> NoReturn:
    # With PYTHONINSPECT, Python prompts for commands after a program ends, and the exit status is
    # lost. Workers and helpers would inherit it.
    inspects = os.environ.pop(INSPECT, "")
    try:
        from mbench.cli.main import main as command
    except KeyboardInterrupt:
        print("mbench: interrupted", file=sys.stderr)
        sys.exit(130)
    except (ImportError, MemoryError) as error:
        if isinstance(error, ImportError) and "failed to map segment" not in str(error):
            raise
        print("mbench: there is not enough memory to start: free some, or raise the limit of the "
              "container or the batch job, or ulimit -v", file=sys.stderr)  # fmt: skip
        sys.exit(1)
    try:
        command()
    except SystemExit as end:
        if not inspects:
            raise
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(end.code if isinstance(end.code, int) else int(end.code is not None))


if __name__ == "__main__":
    main()
