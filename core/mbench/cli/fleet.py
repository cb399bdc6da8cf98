"""`mbench fleet`: from runs of many nodes to a verdict on each."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from mbench.cli.formats import format_options
from mbench.cli.options import Value, apply, metric_option
from mbench.cli.output import check_writable, deliver
from mbench.cli.screen import color_option
from mbench.console import counted, tell
from mbench.spec.values import share

if TYPE_CHECKING:
    from mbench.cli.options import Decorator

__all__ = ["command"]

PERCENT = Value(share, "PERCENT")
ZERO_TOO = Value(partial(share, zero=True), "PERCENT")

places = apply(
    [
        click.argument("folders", nargs=-1, required=True, metavar="DIR...",
                       type=click.Path(path_type=Path)),
        metric_option,
    ]
)  # fmt: skip


@click.group("fleet")
def command() -> None:
    """Find the nodes of a fleet that are slow, wrong, missing or different.

    Each DIR is a folder with the runs of one node, or a folder of such folders. If the
    runs of one folder come from several hosts, each host is a node. Nothing is measured. A DIR may
    also be SuperBench's results-summary.jsonl, or a folder that holds it.

    \b
    Examples:
      mbench fleet diagnose fleet/
      mbench fleet summary fleet/
      mbench fleet baseline fleet/ --output baseline.json
      mbench fleet diagnose today/ --baseline baseline.json
      mbench fleet diagnose results-summary.jsonl --rules rules.yaml --baseline baseline.json
    """


def chosen(context: click.Context, *names: str, rules: object) -> dict[str, Any]:
    """The values of the options `names`, as keywords. With SuperBench's files (`rules`), only those
    that were typed, so that they can be refused.
    """
    typed = ParameterSource.COMMANDLINE
    return {name: context.params[name] for name in names
            if not rules or context.get_parameter_source(name) is typed}  # fmt: skip


def rules_option(does: str) -> Decorator:
    return click.option("--rules", type=click.Path(path_type=Path, dir_okay=False),
                        help=f"{does} this file of SuperBench rules.")  # fmt: skip


@command.command("diagnose")
@places
@rules_option("Judge by")
@click.option("--baseline", type=click.Path(path_type=Path, dir_okay=False),
              help="Compare with this file from mbench fleet baseline instead of with each "
                   "other; with --rules, a SuperBench baseline.")  # fmt: skip
@click.option("--false-alarms", type=PERCENT, default="5%", show_default=True,
              help="Share of healthy fleets in which any node may be suspected by "
                   "chance.")  # fmt: skip
@click.option("--margin", type=ZERO_TOO, default="2%", show_default=True,
              help="Ignore slowdowns up to this.")  # fmt: skip
@format_options("table", "json", "markdown", "html", "junit")
@color_option
@click.pass_context
def diagnose_command(
    context: click.Context, folders: tuple[Path, ...], metric: str, rules: Path | None,
    baseline: Path | None, false_alarms: float, margin: float, format_: str, output: Path | None,
) -> None:  # fmt: skip
    """Say which nodes are slow, wrong, failed, missing or not comparable, and what to do.

    A node is slow if it lies farther below the others than chance would put any node of a healthy
    fleet, its whole 95 % interval lies beyond the margin, and a second run of the node confirms it.
    Until then it is suspected. Losses and outputs of identical nodes with the same software must be
    equal bit for bit. The exit code is 1 if a node or the whole fleet needs a look, 3 if nothing
    could be judged, else 0.

    With --rules, a node is defective, accepted or not judged by SuperBench's rules, which are read
    and never run.

    \b
    Examples:
      mbench fleet diagnose fleet/
      mbench fleet diagnose n01/ n02/ n03/ n04/ n05/ --false-alarms 1%
      mbench fleet diagnose fleet/ --baseline baseline.json --output fleet.html
      mbench fleet diagnose fleet/ --format junit --output fleet.xml
    """
    from mbench.fleet import report
    from mbench.fleet.asked import diagnose_in
    from mbench.fleet.diagnosis import Diagnosis
    from mbench.fleet.superbench import report as by_rules

    del metric, false_alarms, margin
    check_writable(output)
    given = chosen(context, "metric", "false_alarms", "margin", rules=rules)
    found = diagnose_in(folders, rules=rules, baseline=baseline, **given)
    if isinstance(found, Diagnosis):
        shown, said = report.FORMATS[format_](found), report.answer(found)
    else:
        shown, said = by_rules.FORMATS[format_](found), by_rules.answer(found)
    deliver(shown, output)
    if output is not None or format_ not in ("table", "markdown"):
        tell(said)
    context.exit(found.exit_code)


@command.command("summary")
@places
@rules_option("Compute the statistics in")
@format_options("table", "json", "markdown", "csv")
@color_option
@click.pass_context
def summary_command(
    context: click.Context, folders: tuple[Path, ...], metric: str, rules: Path | None,
    format_: str, output: Path | None,
) -> None:  # fmt: skip
    """Show count, median, spread, smallest and largest value of every metric.

    Nodes with different software, and different machines, have rows of their own.

    \b
    Examples:
      mbench fleet summary fleet/
      mbench fleet summary fleet/ --output values.csv
      mbench fleet summary results-summary.jsonl --rules summary.yaml
    """
    from mbench.fleet import report
    from mbench.fleet.asked import summarize_in
    from mbench.fleet.summary import FleetSummary
    from mbench.fleet.superbench import report as by_rules

    del metric
    check_writable(output)
    found = summarize_in(folders, rules=rules, **chosen(context, "metric", rules=rules))
    if isinstance(found, FleetSummary):
        deliver(report.SUMMARY_FORMATS[format_](found), output)
    else:
        deliver(by_rules.SUMMARY_FORMATS[format_](found), output)


@command.command("baseline")
@places
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), required=True,
              help="JSON file to write the baseline to.")  # fmt: skip
@click.option("--force", is_flag=True,
              help="Write it even if nodes of the fleet need a look.")  # fmt: skip
@click.option("--to-superbench", is_flag=True,
              help="Write SuperBench's baseline.json instead: each metric's median.")  # fmt: skip
@click.pass_context
def baseline_command(
    context: click.Context, folders: tuple[Path, ...], metric: str, output: Path, force: bool,
    to_superbench: bool,
) -> None:  # fmt: skip
    """Keep what a healthy fleet measures, with its spread, to diagnose later runs against.

    It holds each metric's values, median and spread, the software and machine, and its own date.
    A fleet in which a node needs a look makes no baseline without --force.

    \b
    Examples:
      mbench fleet baseline fleet/ --output baseline.json
      mbench fleet baseline results-summary.jsonl --to-superbench --output baseline.json
    """
    from mbench.fleet.asked import baseline_in, medians_in
    from mbench.fleet.baseline import written
    from mbench.fleet.superbench import baseline as superbench

    del metric
    check_writable(output)
    given = chosen(context, "metric", rules=to_superbench)
    if to_superbench:
        medians = medians_in(folders, force=force, **given)
        deliver(superbench.written(medians), output)
        tell(f"{output}: medians of {counted(len(medians), 'metric')}")
        return
    made = baseline_in(folders, force=force, **given)
    deliver(written(made), output)
    tell(f"{output}: {counted(len(made.metrics), 'metric')} of {counted(len(made.nodes), 'node')}")
