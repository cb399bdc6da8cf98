"""`mbench show`: a run that was measured before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mbench.commands.complete import completer, runs
from mbench.commands.formats import output_options
from mbench.commands.options import chosen_outlet, chosen_report, results_option
from mbench.commands.output import check_writable, emit
from mbench.commands.screen import color_option

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["command"]


@click.command("show")
@click.argument("run", required=False, shell_complete=completer(runs))
@results_option
@output_options
@color_option
@click.pass_context
def command(
    context: click.Context, /, run: str | None, results: Path, format_: str, layout: str | None,
    output: Path | None, outlet: str | None,
) -> None:  # fmt: skip
    """Show a run: the latest, or the one whose name begins with RUN.

    \b
    Examples:
      mbench show
      mbench show 20260102-1504 --format json
      mbench show --layout dlperf --format markdown
      mbench show --output run.html --log mlflow
    """
    from mbench.results.run import pick_run

    report = chosen_report(context, format_, layout)
    store = chosen_outlet(context, outlet)
    check_writable(output)
    emit(pick_run(results, run), report, output, store, format_=format_)
