"""Finds runs and reads them back."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mbench.console import tell
from mbench.errors import MbenchError, UsageError
from mbench.results import encoding, events
from mbench.results.damage import fill
from mbench.results.folder import EVENTS_FILE, SCHEMA, default_folder, find_runs, is_ahead
from mbench.results.records import Run
from mbench.results.runfile import lines_of, raw_lines_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["check_schema", "file_of", "find_runs", "load_run", "pick_run", "remains"]

EXPLAIN = "explain"
"""The name of explain's protocol."""
BLOCK = '"block"'
"""Occurs at the beginning of a block's line."""


def pick_run(folder: Path, name: str | None, *, explained: bool = False) -> Path:
    """The run in `folder` whose name begins with `name`, or the run at that path, or the latest.

    The latest is the last run of `compare` or `run`, or also of `explain` if `explained`, that has
    measured anything, in the order in which runs were made; if there is none, the last of all.
    Raises UsageError if there is no such run, or more than one.
    """
    if name is not None and is_path(Path(name)):
        return run_at(Path(name))
    runs = find_runs(folder)
    known = any(run.name.startswith(name or "") for run in runs)
    if name and not known and Path(name).is_dir():
        return run_at(Path(name))
    if not runs:
        raise UsageError(
            f"no runs in {folder}; measure one, or give its folder with --results or MBENCH_RESULTS"
        )
    if name is None:
        for run in filter(is_ahead, runs):
            tell(f"{run.name} is dated in the future: the clock was wrong when it began, or is now")
            break
        wanted = (run for run in reversed(runs) if is_result(run, explained=explained))
        return next(wanted, runs[-1])
    matching = [run for run in runs if run.name.startswith(name)]
    if len(matching) != 1:
        what = "no run" if not matching else f"{len(matching)} runs"
        raise UsageError(f"{what} in {folder} named {name!r}; see mbench list runs")
    return matching[0]


def is_result(folder: Path, *, explained: bool) -> bool:
    """Whether a run measured a comparison: calibrations compare a case with itself."""
    try:
        header = header_of(folder, next(lines_of(folder / EVENTS_FILE), ""))
    except MbenchError:
        return True  # its reader says what is wrong
    if header.calibrates or (header.protocol.name == EXPLAIN and not explained):
        return False
    with suppress(MbenchError):  # a line is too long
        return any(BLOCK in line[:24] for line in lines_of(folder / EVENTS_FILE))
    return True


def run_at(place: Path) -> Path:
    """`place` itself; raises UsageError for a folder that is not a run's."""
    if place.is_dir() and place.name != EVENTS_FILE and not os.path.lexists(place / EVENTS_FILE):
        below = find_runs(place)
        example = below[-1] if below else place / "RUN"
        raise UsageError(
            f"{place} is a folder without {EVENTS_FILE}, so it is not a run; give a run's folder, "
            f"such as {example}"
        )
    return place


def is_path(place: Path) -> bool:
    """Whether `place` gives a run: a folder with a run's file, or anything that is not a folder.

    A link counts wherever it leads, so that an error can say what is wrong with it.
    """
    if place.is_dir():
        return len(place.parts) > 1 or os.path.lexists(place / EVENTS_FILE)
    return os.path.lexists(place)


def load_run(folder: Path, *, more: Sequence[type[events.Event]] = ()) -> Run:
    """Read a run; raises MbenchError in one line for a file that is not one of ours.

    If a line cannot be read, the run has what came before it, and its `damage` says which line.
    Events of the kinds in `more`, which the core does not know, are in the run's `more`.
    """
    kinds = {**events.KNOWN, **{kind.kind: kind for kind in more}}
    path = file_of(folder)
    lines = raw_lines_of(path)
    if (first := next(lines, None)) is None:
        raise MbenchError(f"{path} is empty: nothing was measured")
    run = Run(path.parent, header_of(path, first.decode(errors="replace")))
    fill(run, chain([first], lines), kinds)
    return run


def remains(folder: Path, name: str, *, shown: bool = False) -> str:
    """What became of a run that did not end well. The run is read to make sure of it."""
    try:
        run = load_run(folder)
    except MbenchError as error:
        return f"what was measured cannot be read back: {error}"
    named = name if folder.parent == default_folder() else folder
    show = f": mbench show {named} shows it" if shown else ""
    more = ", and the same command with" if not shown else ","
    rest = f"{more} --resume {name} measures the rest" if run.status != "complete" else ""
    return f"what was measured is in {folder}{show}{rest}"


def file_of(folder: Path) -> Path:
    """The file of a run, given its folder or that file."""
    return folder / EVENTS_FILE if folder.is_dir() else folder


def header_of(path: Path, line: str) -> events.Run:
    """The first event; raises MbenchError if it is not a header, or has another schema."""
    try:
        body = json.loads(line)
        check_schema(path, body)
        header = encoding.decode(line)
    except (ValueError, LookupError, TypeError, RecursionError):
        header = None
    if not isinstance(header, events.Run):
        raise MbenchError(f"{path} is not a run of mbench; give one that compare or run wrote")
    return header


def check_schema(path: Path, body: dict[str, Any]) -> None:
    """Raises MbenchError for a header of another schema, LookupError or TypeError for anything that
    is not a header.
    """
    if body["schema"] < 1:
        raise MbenchError(f"{path} has schema {body['schema']}, which no mbench has written")
    if body["schema"] > SCHEMA:
        raise MbenchError(
            f"{path.parent} was written by mbench {body['mbench']} (schema {body['schema']}); "
            f"this version reads schema {SCHEMA}: upgrade mbench"
        )
