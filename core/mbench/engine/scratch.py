"""A temporary folder for the workers of one command, where compilers keep their kernels.

Each command has a new one: a compiler that is killed leaves half a file behind, and the next would
take it for a kernel.
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["scratch", "variables"]

_open: list[str] = []
"""The folders of this process, the innermost last."""


@contextmanager
def scratch() -> Iterator[None]:
    """Workers that start meanwhile keep temporary files in a folder that is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="mbench-", ignore_cleanup_errors=True) as folder:
        _open.append(folder)
        try:
            yield
        finally:
            _open.remove(folder)


def variables() -> Mapping[str, str]:
    """What tells a worker of it; nothing where none is open."""
    return {"TMPDIR": _open[-1]} if _open else {}
