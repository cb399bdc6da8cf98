"""`mbench show`: a run that was measured before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mbench.cli.completion import completer, runs
from mbench.cli.formats import output_options
from mbench.cli.gate import announce, gate_options
from mbench.cli.options import chosen_exporter, chosen_report, metric_option, results_option
from mbench.cli.output import check_writable, emit
from mbench.cli.screen import color_option

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["command"]


@click.command("show")
@click.argument("run", required=False, shell_complete=completer(runs))
@metric_option
@results_option
@gate_options(of="a framework is slower than the first")
@output_options
@click.option("-v", "--verbose", "verbosity", flag_value="verbose",
              help="Show every figure and note, as --format details does.")  # fmt: skip
@color_option
@click.pass_context
def command(
    context: click.Context, /, run: str | None, metric: str, results: Path,
    fail_if_slower: float | None, allow_inconclusive: bool, format_: str, layout: str | None,
    output: Path | None, exporter: str | None, **_: object,
) -> None:  # fmt: skip
    """Show a run: the latest, or the one whose name begins with RUN.

    \b
    Examples:
      mbench show
      mbench show -v
      mbench show 20260102-1504 --format json
      mbench show --metric latency_p50
      mbench show 20260102-1504 --fail-if-slower 3%
      mbench show --layout dlperf --format markdown
      mbench show --output run.html --log mlflow
    """
    from mbench.results.run import pick_run

    report = chosen_report(context, format_, layout)
    store = chosen_exporter(context, exporter)
    check_writable(output)
    gate = emit(
        pick_run(results, run), report, output, store, metric=metric,
        fail_if_slower=fail_if_slower, allow_inconclusive=allow_inconclusive,
    )  # fmt: skip
    if gate is not None:
        context.exit(announce(gate, format_=format_, layout=layout, output=output))
