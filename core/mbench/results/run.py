"""Finds runs and reads them back."""

from __future__ import annotations

import json
from pathlib import Path

from mbench.errors import MbenchError, UsageError
from mbench.results import events
from mbench.results.folder import EVENTS_FILE, SCHEMA
from mbench.results.records import Run

__all__ = ["find_runs", "load_run", "pick_run"]


def find_runs(folder: Path) -> list[Path]:
    """The folders of all runs, oldest first."""
    return sorted(path.parent for path in folder.glob(f"*/{EVENTS_FILE}") if path.is_file())


def pick_run(folder: Path, name: str | None) -> Path:
    """The run that `name` begins in `folder`, or lies at that path, or the latest.

    Raises UsageError where there is no such run, or more than one.
    """
    if name is not None and (Path(name).is_file() or (Path(name) / EVENTS_FILE).exists()):
        return Path(name)
    runs = find_runs(folder)
    if not runs:
        raise UsageError(
            f"no runs in {folder}; measure one, or name its folder: --results, or MBENCH_RESULTS"
        )
    if name is None:
        return runs[-1]
    matching = [run for run in runs if run.name.startswith(name)]
    if len(matching) != 1:
        what = "no run" if not matching else f"{len(matching)} runs"
        raise UsageError(f"{what} in {folder} named {name!r}; see mbench list runs")
    return matching[0]


def load_run(folder: Path) -> Run:
    """Read a run; raises MbenchError in one line for a file that is not one of ours."""
    path = folder if folder.is_file() else folder / EVENTS_FILE
    lines = lines_of(path)
    if not lines:
        raise MbenchError(f"{path} is empty: nothing was measured")
    run = Run(folder, header_of(path, lines[0]))
    for number, line in enumerate(lines[1:], start=2):
        try:
            if event := events.decode(line):
                run.take(event)
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            if number == len(lines):
                run.cut_off = True
                break
            raise MbenchError(f"{path}, line {number}: not an event of a run ({error!r})") from None
    return run


def lines_of(path: Path) -> list[str]:
    """Its lines, which end at line feeds only: texts may hold what else ends lines elsewhere."""
    try:
        if path.exists() and not path.is_file():
            raise MbenchError(f"cannot read {path}: it is no file")
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError as error:
        raise MbenchError(f"cannot read {path}: {error.strerror}") from None
    return lines if lines[-1] else lines[:-1]


def header_of(path: Path, line: str) -> events.Run:
    """The first event; raises MbenchError where it is none, and for a newer schema."""
    try:
        body = json.loads(line)
        if body["schema"] > SCHEMA:
            raise MbenchError(
                f"{path.parent} was written by mbench {body['mbench']} (schema {body['schema']}); "
                f"this one reads schema {SCHEMA}: upgrade mbench"
            )
        header = events.decode(line)
    except (ValueError, LookupError, TypeError, RecursionError):
        header = None
    if not isinstance(header, events.Run):
        raise MbenchError(f"{path} is no run of mbench; name one that compare or run wrote")
    return header
