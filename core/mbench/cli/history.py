"""`mbench history`: how throughput, or another metric, changed over all stored runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mbench.cli.completion import arms, completer, models, plugins
from mbench.cli.formats import format_options
from mbench.cli.options import ARMS, COMMAS, results_option
from mbench.cli.output import check_writable, deliver
from mbench.cli.screen import color_option
from mbench.console import tell

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["command"]


@click.command("history")
@click.option("--model", "--models", "models", type=COMMAS, default=(),
              shell_complete=completer(models, many=True),
              help="These models only.")  # fmt: skip
@click.option("--framework", "--frameworks", "frameworks", type=ARMS, default=(),
              shell_complete=arms(many=True),
              help="These frameworks only.")  # fmt: skip
@click.option("--metric", default="", metavar="NAME",
              help="What is shown over time: throughput, latency_mean, latency_p50 and other "
                   "percentiles, joules_per_sample.  [default: throughput]")  # fmt: skip
@results_option
@format_options("table", "markdown", "csv", "json")
@color_option
@click.pass_context
def command(
    context: click.Context, models: tuple[str, ...], frameworks: tuple[str, ...], metric: str,
    results: Path, format_: str, output: Path | None,
) -> None:  # fmt: skip
    """Show every case of all stored runs, oldest first, with its change from the run before.

    mbench report --history draws the same. Both need the extra "analysis".

    \b
    Examples:
      mbench history
      mbench history --model resnet50 --framework torch --output trend.csv
    """
    from mbench.reports.history import FORMATS
    from mbench.results.database import files_of
    from mbench.results.history import trace
    from mbench.spec.selection import as_listed

    check_writable(output)
    listed = plugins(context).workloads.by_name
    found = trace(
        files_of(results, tell=tell), models=[as_listed(word, listed) for word in models],
        frameworks=frameworks, metric=metric,
    )  # fmt: skip
    deliver(FORMATS[format_](found), output)
