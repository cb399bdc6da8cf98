"""All checks, in the order of the report."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

from mbench.contract.device import Check, fail, ok
from mbench.machine.devices import kinds
from mbench.machine.doctor import memory, processor

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["examine"]


def examine(*, results: Path) -> Iterator[Check]:
    """Check the machine, and whether runs can be written to `results`."""
    yield from processor.examine()
    yield from memory.examine()
    for device in kinds().values():
        yield from device.examine()
    yield writable(results)


def writable(folder: Path) -> Check:
    """Whether the folder of all runs, or its nearest existing parent, is writable."""
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    try:
        with tempfile.TemporaryDirectory(dir=there):
            return ok("results folder", str(folder))
    except OSError as error:
        found = f"cannot write to {there}: {error.strerror}"
        return fail("results folder", found, "name another with --results")
