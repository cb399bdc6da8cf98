"""Where reports go: read a run, render it, write it to a file or to stdout."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Any

import click

from mbench.cli.screen import in_colour
from mbench.console import tell
from mbench.errors import MbenchError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mbench.reports.exporters.exporter import Exporter
    from mbench.reports.report import Report
    from mbench.results.records import Run

__all__ = ["check_writable", "deliver", "emit", "print_table", "read", "report_cut"]

STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""What a terminal obeys, and no format of a report holds."""


def check_writable(output: Path | None) -> None:
    """Fail before the measurement, not after it."""
    if output is not None and not output.parent.is_dir():
        raise UsageError(f"cannot write {output}: there is no folder {output.parent}")
    if output is not None and not os.access(output if output.exists() else output.parent, os.W_OK):
        raise UsageError(f"cannot write {output}: it is not yours to write")


def emit(
    folder: Path,
    report: Report,
    output: Path | None,
    exporter: Exporter | None = None,
    *,
    format_: str,
) -> None:
    """Render the run in `folder` to a file or to stdout, and hand it over where that is asked."""
    document = read(folder)
    deliver(report(document), output, format_=format_)
    if exporter is not None:
        tell(f"logged as {exporter(document, folder)}")


def read(folder: Path) -> dict[str, Any]:
    """The document of the run in `folder`; says so where its file is cut off."""
    from mbench.results.run import load_run
    from mbench.results.summary import summarize

    run = load_run(folder)
    report_cut(run)
    return summarize(run)


def report_cut(run: Run) -> None:
    """Say so where a run's file ends in the middle of a line."""
    if run.cut_off:
        tell(f"{run.id} is cut off; showing what is whole")


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    notes: Sequence[str] = (),
    numeric: Sequence[str] = (),
    spare: Sequence[str] = (),
) -> None:
    """A table for stdout, as wide as the terminal, and what there is to say of it."""
    from mbench.reports.grid import Grid, table
    from mbench.reports.terminal import folded, terminal_width
    from mbench.reports.text import plain

    grid = Grid("", columns, list(rows), numeric=frozenset(numeric), spare=spare, all_in="")
    lines = folded(notes, terminal_width())
    deliver(table([grid]) + (plain("\n".join(lines)) if lines else ""), None, format_="table")


def deliver(text: str, output: Path | None, *, format_: str) -> None:
    """Write a report to a file or to stdout; raises MbenchError where it cannot be written."""
    text = STEERING.sub("", text)
    if format_ == "table" and output is None and in_colour(sys.stdout):
        from mbench.reports.paint import paint

        text = paint(text)
    raw = text.encode("utf-8", errors="replace")  # a run file may hold half a surrogate pair
    if output is None:
        click.echo(raw, nl=False)
        return
    try:
        output.write_bytes(raw)
    except OSError as error:
        raise MbenchError(f"cannot write {output}: {error.strerror}") from None
