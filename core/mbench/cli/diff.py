"""`mbench diff`: a gate that fails if an update made anything slower."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mbench.cli.completion import completer, runs
from mbench.cli.formats import format_options
from mbench.cli.gate import announce, gate_options
from mbench.cli.options import metric_option, results_option
from mbench.cli.output import check_writable, deliver
from mbench.cli.screen import color_option

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["command"]


@click.command("diff")
@click.argument("base", shell_complete=completer(runs))
@click.argument("new", shell_complete=completer(runs))
@gate_options(of="a case is slower", default="3%")
@click.option(
    "--allow-unchecked",
    is_flag=True,
    help="Let cases pass even if their equal work was not checked (--no-verify).",
)
@metric_option
@results_option
@format_options("table", "markdown", "json", "junit")
@color_option
@click.pass_context
def command(
    context: click.Context, /, base: str, new: str, fail_if_slower: float,
    allow_inconclusive: bool, allow_unchecked: bool, metric: str, results: Path, format_: str,
    output: Path | None,
) -> None:  # fmt: skip
    """Say what became slower from run BASE to run NEW, and fail if anything did.

    BASE and NEW are beginnings of runs' names, or paths; either may be several, separated by
    commas, of the same machine and versions. The gate fails, with exit code 1, if the whole 95 %
    interval of a case lies beyond the allowed slowdown, or if a case that was measured in BASE is
    missing, failed, not proven equal or in doubt in NEW, or unchecked in BASE or NEW. It passes,
    with 0, if every interval excludes such a slowdown. Otherwise it is inconclusive, with 3, and
    the report says how many processes or runs would be enough.

    With single runs, intervals are over processes, so a machine that was faster during a whole run
    looks like a change. With several on a side, they are over runs, which covers that, too, and
    needs three or more on each side.

    \b
    Examples:
      mbench diff 20260102 20260109
      mbench diff 20260102,20260103,20260104 20260109,20260110,20260111
      mbench diff base/ new/ --fail-if-slower 5% --format markdown
      mbench diff base/ new/ --metric latency_p50
      mbench diff base/ new/ --output diff.xml
    """
    from mbench.reports.differences import FORMATS, headline
    from mbench.results.difference import differ
    from mbench.results.run import load_run, pick_run
    from mbench.results.several import as_one
    from mbench.results.summary import analyse

    check_writable(output)
    sides = [
        [analyse(load_run(pick_run(results, name.strip()))) for name in names.split(",")]
        for names in (base, new)
    ]
    by_run = any(len(side) > 1 for side in sides)  # a run's processes are not like several runs
    old, now = (as_one(side, by_run=by_run) for side in sides)
    found = differ(
        old, now, metric=metric, by_run=by_run, allow_unchecked=allow_unchecked,
        fail_if_slower=fail_if_slower, allow_inconclusive=allow_inconclusive,
    )  # fmt: skip
    deliver(FORMATS[format_](found), output)
    context.exit(announce(found.gate, headline(found), format_=format_, output=output))
