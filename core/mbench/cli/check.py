"""`mbench check`: whether runs are fit to be published."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mbench.cli.completion import completer, runs
from mbench.cli.formats import format_options
from mbench.cli.options import COMMAS, results_option
from mbench.cli.output import check_writable, deliver
from mbench.cli.screen import color_option
from mbench.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["command"]


@click.command("check")
@click.argument("run", nargs=-1, shell_complete=completer(runs))
@click.option("--allow", type=COMMAS, default=(), metavar="CHECK[,...]",
              help="Checks that may fail, such as quiet or shipped.")  # fmt: skip
@results_option
@format_options("table", "markdown", "csv", "json")
@color_option
@click.pass_context
def command(
    context: click.Context, /, run: tuple[str, ...], allow: tuple[str, ...], results: Path,
    format_: str, output: Path | None,
) -> None:  # fmt: skip
    """Say whether each RUN, or the latest, is fit to be published.

    RUN is the beginning of a run's name, or a path. A run is whole if it was measured to its end,
    unedited if the digest in its file matches, proven if all its work is, released if a release of
    mbench made it, quiet if nothing disturbed the machine, and shipped if all adapters are mbench's
    own. The exit code is 0 if every RUN is all of that, apart from what --allow names, else 1.

    A digest shows that a file was not changed after it was written. It does not show who wrote it.

    \b
    Examples:
      mbench check
      mbench check submissions/*/run.jsonl
      mbench check 20260102 --allow quiet --format markdown
    """
    from mbench.reports.grid import write
    from mbench.results.run import pick_run
    from mbench.site.check import NAMES, check, table

    check_writable(output)
    if unknown := [name for name in allow if name not in NAMES]:
        raise UsageError(f"unknown check {unknown[0]!r}; available: {', '.join(NAMES)}",
                         option="--allow")  # fmt: skip
    places = [pick_run(results, name) for name in run or (None,)]
    for place in places:
        if not place.exists():
            raise UsageError(f"{place} does not exist; give a run, its folder or its file")
    found = [check(place, allowed=allow) for place in places]
    deliver(write([*map(table, found)], format_=format_), output)
    context.exit(0 if all(one.passed for one in found) else 1)
