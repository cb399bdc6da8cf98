"""All checks, in the order in which they are shown."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

from mbench.machine.devices import kinds
from mbench.machine.doctor import memory, processor
from mbench.machine.doctor.check import Check, fail, ok

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["examine"]


def examine(*, results: Path) -> Iterator[Check]:
    """Look at the machine, and whether runs can be written to `results`."""
    yield from processor.examine()
    yield from memory.examine()
    for device in kinds().values():
        yield from device.examine()
    yield writable(results)


def writable(folder: Path) -> Check:
    """The folder of all runs, or the nearest one above it that is there."""
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    try:
        with tempfile.TemporaryDirectory(dir=there):
            return ok("results folder", str(folder))
    except OSError as error:
        said = f"cannot write to {there}: {error.strerror}"
        return fail("results folder", said, "name another with --results")
