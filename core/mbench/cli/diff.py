"""`mbench diff`: a gate for what an update did to speed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from mbench.cli.completion import completer, runs
from mbench.cli.formats import format_options
from mbench.cli.options import Value, metric_option, results_option
from mbench.cli.output import check_writable, deliver
from mbench.cli.screen import color_option
from mbench.console import tell
from mbench.spec.values import share

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["command"]


@click.command("diff")
@click.argument("base", shell_complete=completer(runs))
@click.argument("new", shell_complete=completer(runs))
@click.option("--threshold", type=Value(partial(share, zero=True), "PERCENT"), default="3%",
              show_default=True,
              help="Smaller slowdowns are not regressions.")  # fmt: skip
@click.option(
    "--allow-undetermined",
    is_flag=True,
    help="Pass even if some cases (not all) are too noisy for the threshold.",
)
@metric_option
@results_option
@format_options("table", "markdown", "json", "junit")
@color_option
@click.pass_context
def command(
    context: click.Context, /, base: str, new: str, threshold: float, allow_undetermined: bool,
    metric: str, results: Path, format_: str, output: Path | None,
) -> None:  # fmt: skip
    """Say what became slower from run BASE to run NEW, and fail if anything did.

    BASE and NEW are beginnings of runs' names, or paths. A case is faster or slower if the 95 %
    interval over its processes excludes equality. A regression is a case that is slower by more
    than the threshold, or that was measured in BASE and failed in NEW; the exit code is then 1.
    It is also 1 if nothing could be compared, or if a case is too noisy to detect a change of the
    threshold: the report says how many processes are needed.

    \b
    Examples:
      mbench diff 20260102 20260109
      mbench diff base/ new/ --threshold 5% --format markdown
      mbench diff base/ new/ --metric latency_p50
      mbench diff base/ new/ --output diff.xml
    """
    from mbench.reports.differences import FORMATS, headline
    from mbench.results.difference import differ
    from mbench.results.run import load_run, pick_run
    from mbench.results.summary import analyse

    check_writable(output)
    old, now = (analyse(load_run(pick_run(results, name))) for name in (base, new))
    found = differ(old, now, threshold=threshold, metric=metric)
    deliver(FORMATS[format_](found), output)
    if output is not None:
        tell(f"{headline(found)}")
    compared = any(case.ratio is not None for case in found.cases)
    judged = any(case.judged for case in found.cases)
    if not compared:
        tell("nothing could be compared")
    elif not judged:
        tell("inconclusive: no case is precise enough to detect a change of the threshold")
    told = judged and (allow_undetermined or not found.undetermined)
    context.exit(0 if told and not found.regressions else 1)
