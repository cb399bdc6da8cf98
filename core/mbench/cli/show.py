"""`mbench show`: a run that was measured before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mbench.cli.completion import completer, runs
from mbench.cli.formats import output_options
from mbench.cli.gate import announce, gate_options
from mbench.cli.options import (
    chosen_exporter,
    chosen_report,
    metric_option,
    plugins,
    results_option,
)
from mbench.cli.output import check_writable, deliver, emit, report_cut
from mbench.cli.screen import color_option
from mbench.errors import MbenchError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from mbench.results.records import Run

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

    if (training := training_run(results, run)) is not None:
        show_training(context, training, layout=layout, format_=format_, output=output)
        return
    report = chosen_report(context, format_, layout)
    store = chosen_exporter(context, exporter)
    check_writable(output)
    gate = emit(
        pick_run(results, run), report, output, store, metric=metric,
        fail_if_slower=fail_if_slower, allow_inconclusive=allow_inconclusive,
    )  # fmt: skip
    if gate is not None:
        context.exit(announce(gate, format_=format_, layout=layout, output=output))


def training_run(results: Path, name: str | None) -> Run | None:
    """The run of that name, if it is a training run and can be read."""
    from mbench.results.run import load_run, pick_run
    from mbench.spec.learning import Learning

    try:
        found = load_run(pick_run(results, name))
    except MbenchError:  # reported later, once the options are known to be right
        return None
    return found if isinstance(found.protocol, Learning) else None


def show_training(
    context: click.Context, run: Run, *, layout: str | None, format_: str, output: Path | None
) -> None:
    """Show a training run; raises UsageError for options that only comparisons have."""
    from mbench.learning.report import report, trained

    options = context.params
    for name, value in (("metric", options["metric"]), ("log", options["exporter"]),
                        ("fail-if-slower", options["fail_if_slower"])):  # fmt: skip
        if value not in (None, ""):  # 0 % is a value
            raise UsageError(f"{run.id} is a training run, which has no --{name}",
                             option=f"--{name}")  # fmt: skip
    render = report("table" if format_ == "details" else format_, layout)
    check_writable(output)
    report_cut(run)
    deliver(render(trained(run, plugins(context))), output)
