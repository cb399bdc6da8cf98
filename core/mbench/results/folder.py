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
           "in_order", "is_ahead", "with_ids"]  # fmt: skip

EVENTS_FILE = "run.jsonl"
SCHEMA = 1


NAME = "%Y%m%d-%H%M%S"
"""How a run's name begins: with its time in UTC."""
ID = re.compile(rb'"id":"([^"\\\\]+)"')
AFTER = re.compile(rb'"after":"([^"\\\\]+)"')
HEADER_BYTES = 512
"""Number of bytes at the start of a run's file that hold its id and the name of the run before."""
AHEAD = timedelta(days=1)
"""How much the clocks of machines that share a folder may differ."""


def find_runs(folder: Path) -> list[Path]:
    """The folders of all runs, oldest first."""
    return in_order(path.parent for path in folder.glob(f"*/{EVENTS_FILE}") if os.path.isfile(path))


def in_order(runs: Iterable[Path]) -> list[Path]:
    """Runs in the order in which they were made, as far as that is known."""
    return [run for run, _ in with_ids(runs)]


def with_ids(runs: Iterable[Path]) -> list[tuple[Path, str]]:
    """Runs with their ids, in the order in which they were made, as far as that is known.

    Ids are times; a folder's name is one only until somebody renames it. A clock may have been
    wrong, by years if a machine has no battery. So each run also names the latest run in its folder
    when it began, and comes after that one, whatever its own time.
    """
    headers = {run: header(run) for run in sorted(runs)}
    named = {run.name: run for run in headers} | {id_: run for run, (id_, _) in headers.items()}
    keys: dict[Path, tuple[str, int]] = {}
    for first in headers:
        run: Path | None = first
        chain: dict[Path, None] = {}
        while run is not None and run not in keys and run not in chain:
            chain[run] = None
            run = named.get(headers[run][1])
        at = keys.get(run, ("", 0)) if run else ("", 0)
        for one in reversed(chain):
            own = headers[one][0]
            at = (own, 0) if own > at[0] else (at[0], at[1] + 1)
            keys[one] = at
    made = [(run, id_) for run, (id_, _) in headers.items()]
    return sorted(made, key=lambda one: (*keys[one[0]], one[1], one[0]))


def header(run: Path) -> tuple[str, str]:
    """A run's id, or its folder's name if that cannot be read, and the name of the run that was the
    latest when this one began; that is empty if none is recorded.
    """
    try:
        with opened(run / EVENTS_FILE) as file:
            begins = file.read(HEADER_BYTES)
    except OSError:
        begins = b""
    own, before = ID.search(begins), AFTER.search(begins)
    return (
        own[1].decode(errors="replace") if own else run.name,
        before[1].decode(errors="replace") if before else "",
    )


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
