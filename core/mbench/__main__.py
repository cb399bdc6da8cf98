"""The entry of `mbench` and of `python -m mbench`: Ctrl-C is one line from the first import on."""

from __future__ import annotations

import sys
from typing import NoReturn

__all__ = ["main"]


def main() -> NoReturn:
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
    command()


if __name__ == "__main__":
    main()
