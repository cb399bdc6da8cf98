"""Where reports go: read a run, render it, write it to a file or to stdout."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

import click

from mbench.cli.screen import in_colour
from mbench.console import tell
from mbench.errors import MbenchError, UsageError, why
from mbench.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import RenderableType

    from mbench.plugins.report import Exporter, Report
    from mbench.reports.grid import Cell
    from mbench.results.gate import Gate
    from mbench.results.records import Run

__all__ = ["check_writable", "deliver", "emit", "print_table", "report_cut"]

STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Control characters, which a terminal obeys and no report format contains."""


def check_writable(output: Path | None) -> None:
    """Raises UsageError before the measurement, so that writing does not fail after it."""
    if output is not None and not output.parent.is_dir():
        raise UsageError(f"cannot write {output}: there is no folder {output.parent}")
    if output is not None and not os.access(output if output.exists() else output.parent, os.W_OK):
        raise UsageError(f"cannot write {output}: permission denied")


def emit(
    folder: Path,
    report: Report,
    output: Path | None,
    exporter: Exporter | None = None,
    *,
    metric: str = "",
    fail_if_slower: float | None = None,
    allow_inconclusive: bool = False,
) -> Gate | None:
    """Render the run in `folder` to a file or to stdout, and log it if asked. Returns the gate's
    verdict, if there is a gate. Says so if the run's file is cut off.
    """
    from mbench.results.run import load_run
    from mbench.results.summary import analyse

    run = load_run(folder)
    report_cut(run)
    summary = analyse(
        run, metric, fail_if_slower=fail_if_slower, allow_inconclusive=allow_inconclusive
    )
    deliver(report(summary), output)
    if exporter is not None:
        tell(f"logged as {exporter(summary, folder)}")
    return summary.gate


def report_cut(run: Run) -> None:
    """Say so if a run's file ends in the middle of a line, or is damaged."""
    if run.cut_off:
        tell(f"{run.id} is cut off; showing the complete part")
    for said in run.oddities:
        tell(f"{run.id}: {said}")


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    *,
    notes: Sequence[str] = (),
    numeric: Sequence[str] = (),
    spare: Sequence[str] = (),
) -> None:
    """Print a table as wide as the terminal, with notes below it."""
    from rich.console import Group

    from mbench.reports.grid import Grid
    from mbench.reports.terminal import Sentences

    grid = Grid("", columns, list(rows), numeric=frozenset(numeric), spare=spare, all_in="")
    deliver(Group(grid, Sentences(notes)), None)


def deliver(report: RenderableType, output: Path | None, *, after: bool = False) -> None:
    """Write a report to a file or to stdout, possibly `after` another one.

    Raises MbenchError if it cannot be written.
    """
    if isinstance(report, str):
        text = STEERING.sub("", report)
    else:
        from mbench.reports.terminal import Screen

        here = Screen.of(sys.stdout, colour=in_colour(sys.stdout))
        text = (here if output is None else Screen()).text(report)
    text = "\n" * after + text
    raw = text.encode("utf-8", errors="replace")  # a run file may contain half a surrogate pair
    if output is None:
        click.echo(raw, nl=False)
        return
    try:
        write_whole(output, raw, after=after)
    except OSError as error:
        raise MbenchError(f"cannot write {output}: {why(error)}") from None
