"""Where runs are stored, and in which schema they are written."""

from __future__ import annotations

import os
import re
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from mbench.files import opened

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["EVENTS_FILE", "NAME", "SCHEMA", "default_folder", "ensure_home", "find_runs",
           "in_order", "is_ahead"]  # fmt: skip

EVENTS_FILE = "run.jsonl"
SCHEMA = 1


NAME = "%Y%m%d-%H%M%S"
"""How a run's name begins: with its time in UTC."""
AFTER = re.compile(rb'"after":"([^"\\\\]+)"')
HEADER_BYTES = 512
"""Number of bytes at the start of a run's file that hold its name and that of the run before."""
AHEAD = timedelta(days=1)
"""How much the clocks of machines that share a folder may differ."""


def find_runs(folder: Path) -> list[Path]:
    """The folders of all runs, oldest first."""
    return in_order(path.parent for path in folder.glob(f"*/{EVENTS_FILE}") if os.path.isfile(path))


def in_order(runs: Iterable[Path]) -> list[Path]:
    """Runs in the order in which they were made, as far as that is known.

    Names are times. A clock may have been wrong, by years if a machine has no battery. So each run
    also names the latest run in its folder when it began, and comes after that one, whatever its
    own time.
    """
    there = {run.name: run for run in sorted(runs)}
    keys: dict[str, tuple[str, int]] = {}
    for name in there:
        chain = []
        while name in there and name not in keys and name not in chain:
            chain.append(name)
            name = run_before(there[name])
        at = keys.get(name, ("", 0))
        for one in reversed(chain):
            at = (one, 0) if one > at[0] else (at[0], at[1] + 1)
            keys[one] = at
    return [there[name] for name in sorted(there, key=lambda name: (*keys[name], name))]


def run_before(run: Path) -> str:
    """The name of the run that was the latest when this one began; empty if none is recorded."""
    try:
        with opened(run / EVENTS_FILE) as file:
            found = AFTER.search(file.read(HEADER_BYTES))
    except OSError:
        return ""
    return found[1].decode(errors="replace") if found else ""


def is_ahead(run: Path) -> bool:
    """Whether a run began in the future, according to its name."""
    try:
        began = datetime.strptime(run.name[:15], NAME).replace(tzinfo=timezone.utc)
    except ValueError:
        return False
    return began > datetime.now(timezone.utc) + AHEAD


def default_folder() -> Path:
    """`mbench-results` in the current folder, or the folder that MBENCH_RESULTS names."""
    return Path(os.environ.get("MBENCH_RESULTS") or "mbench-results")


def ensure_home() -> None:
    """Make the root the home folder of a user who has none, such as one unknown to the system in
    some containers. Nothing can be kept there, and nothing has to be.
    """
    try:
        Path.home()
    except RuntimeError:
        os.environ["HOME"] = "/"
