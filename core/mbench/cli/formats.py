"""`--format` and `--output`: a report's format follows from the file's suffix."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mbench.cli.completion import completer, exporters, formats, layouts
from mbench.cli.options import apply, plugins
from mbench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Collection

    from mbench.cli.options import Decorator

__all__ = ["by_ending", "format_options", "output_options"]

ENDINGS = {"csv": "csv", "htm": "html", "html": "html", "json": "json", "jsonl": "jsonl",
           "markdown": "markdown", "md": "markdown", "parquet": "parquet",
           "xml": "junit"}  # fmt: skip
"""Formats by file suffix. Files with other suffixes may hold any format."""


def by_ending(
    output: Path | None, *, chosen: str | None, known: Collection[str], usual: str
) -> str:
    """The `chosen` format, else that of the file's suffix, else the `usual` one.

    Raises UsageError if the suffix contradicts the format, or names one that cannot be written.
    """
    ending = output.suffix.removeprefix(".").lower() if output is not None else ""
    said = ENDINGS.get(ending, ending if ending in known else None)
    if chosen is not None and said is not None and chosen != said:
        raise UsageError(f"--format {chosen} contradicts --output {output}; give one of them")
    if chosen is None and said is not None and said not in known:
        raise UsageError(
            f"--output {output} would hold {said}, which this command cannot write: "
            f"use the suffix of another format (available: {', '.join(sorted(known))})"
        )
    return chosen or said or usual


def choose(
    context: click.Context, _: click.Parameter, chosen: str | None, *, known: Collection[str],
    usual: str,
) -> str:  # fmt: skip
    return by_ending(context.params["output"], chosen=chosen, known=known or offered(context),
                     usual=usual)  # fmt: skip


def offered(context: click.Context) -> set[str]:
    """All formats of plugins, including those of layouts."""
    found = plugins(context)
    laid_out = (formats for layout in found.layouts.unique().values() for formats in layout)
    return {*found.reports.by_name, *laid_out}


def format_options(*known: str, usual: str = "table", of: str = "the report") -> Decorator:
    """The options --format and --output, for the `known` formats, or else for those of plugins."""
    says = f"Format of {of}" + ("" if known else ": table, json, csv, markdown, html or junit")
    return apply(
        [
            click.option("--format", "format_", type=click.Choice(known) if known else str,
                         default=None, callback=partial(choose, known=known, usual=usual),
                         shell_complete=None if known else completer(formats),
                         help=f"{says}.  [default: by the suffix of --output, else {usual}]"),
            click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False),
                         is_eager=True,  # before --format, which depends on it
                         help=f"Write {of} to a file instead of stdout."),
        ]
    )  # fmt: skip


output_options = apply(
    [
        format_options(),
        click.option("--layout", default=None, shell_complete=completer(layouts),
                     help="Arrange the report like a published table: dlperf, nvidia or "
                          "superbench, which also has the format jsonl."),
        click.option("--log", "exporter", default=None, shell_complete=completer(exporters),
                     help="Also export the run to another tool: mlflow."),
    ]
)  # fmt: skip
