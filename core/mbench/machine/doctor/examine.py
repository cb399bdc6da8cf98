"""All checks, in the order of the report."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

from mbench.contract.device import Check, fail, ok, warn
from mbench.machine.devices import kinds
from mbench.machine.doctor import memory, processor
from mbench.plugins.programs import found_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from mbench.contract.adapter import Adapter

__all__ = ["examine"]


def examine(*, results: Path, adapters: Iterable[Adapter] = ()) -> Iterator[Check]:
    """Check the machine, whether it has the programs that frameworks call, and whether runs can be
    written to `results`.
    """
    yield from processor.examine()
    yield from memory.examine()
    for device in kinds().values():
        yield from device.examine()
    for adapter in adapters:
        yield from programs(adapter)
    yield writable(results)


def programs(adapter: Adapter) -> Iterator[Check]:
    """Whether the machine has what the adapter needs and pip cannot install."""
    for need, path in found_for(adapter):
        name = f"{need.programs[0]} for {adapter.title}"
        yield ok(name, path) if path else warn(name, "not on PATH", need.remedy)


def writable(folder: Path) -> Check:
    """Whether the folder of all runs, or its nearest existing parent, is writable."""
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    try:
        with tempfile.TemporaryDirectory(dir=there):
            return ok("results folder", str(folder))
    except OSError as error:
        found = f"cannot write to {there}: {error.strerror}"
        return fail("results folder", found, "name another with --results")
