"""`mbench calibrate`: how large a difference this machine shows where there is none."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from mbench.cli.completion import arms
from mbench.cli.formats import format_options
from mbench.cli.measure import execution_of, preflight_of
from mbench.cli.options import (
    CaseCommand,
    case_options,
    check_options,
    given_of,
    launch_options,
    plugins,
    protocol_options,
    results_option,
    resume_option,
)
from mbench.cli.output import check_writable, deliver
from mbench.cli.screen import screen_options
from mbench.console import counted, span, tell
from mbench.contract.axes import MACHINE, Axes, name
from mbench.errors import UsageError
from mbench.spec.build import build

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import RenderableType
    from rich.text import Text

    from mbench.results.replication import NextStep

__all__ = ["command"]


@click.command("calibrate", cls=CaseCommand, usual=(
    "models", "mode", "batch_size", "amp", "image_size", "processes", "budget", "device", "threads",
    "output",
))  # fmt: skip
@click.argument("framework", shell_complete=arms())
@case_options
@protocol_options
@launch_options
@check_options
@resume_option
@results_option
@format_options("table", "json")
@screen_options
@click.pass_context
def command(context: click.Context, /, framework: str, **options: Any) -> None:
    """Measure a framework against itself (A/A), and store how much identical processes differ.

    Both sides are the same, so any difference is noise. For 30 days, comparisons of the same case
    report the smallest difference that they can detect here, and use the known scatter for their
    intervals.

    \b
    Examples:
      mbench calibrate torch
      mbench calibrate torch --models resnet50 --image-size 96 --batch-size 4 --processes 10
    """
    from mbench.measure.run import conduct
    from mbench.reports.progress import open_progress

    experiment = build((framework, framework), given_of(context), plugins(context))
    if not experiment.protocol.side_by_side:
        raise UsageError("only the adaptive protocol compares processes that run side by side")
    if experiment.protocol.processes < 3:
        raise UsageError("too few process pairs to show scatter; give --processes 3 or more")
    check_writable(options["output"])
    checked = preflight_of(context, experiment)
    for line in checked.warnings:
        tell(line)
    progress = open_progress(verbosity=options["verbosity"], color=context.color)
    store, interrupted = conduct(checked, execution_of(context), progress)
    found = keep_calibrations(store.folder)
    deliver(rendered(found, run=store.id, format_=options["format_"]), options["output"])
    if interrupted:
        tell(f"interrupted; what was measured is in {store.folder}")
        context.exit(130)
    context.exit(1 if store.failures or not found else 0)


@dataclass(frozen=True, kw_only=True)
class Calibrated:
    """The comparison of a case with itself."""

    axes: Axes = field(metadata={"flat": "axis"})
    framework: str
    version: str | None
    ratio: float | None
    low: float | None
    high: float | None
    process_pairs: int
    verdict: str | None
    detectable: float | None
    """Smallest relative difference that this many pairs would detect; None if they are too few."""
    reason: str | None
    next_step: NextStep | None
    """What it would take to know more; None if nothing more is needed."""
    disturbances: list[str]


def keep_calibrations(folder: Path) -> list[Calibrated]:
    """Store the ratios of every comparison in an A/A run, and return them."""
    from mbench.results.calibration import Calibration, keep
    from mbench.results.run import load_run
    from mbench.results.summary import analyse

    run = load_run(folder)
    summary = analyse(run)
    numbers = sorted(run.cases)
    found = []
    for pair in summary.comparisons:
        case = run.cases[numbers[pair.cases[0]]]
        calibrated = Calibrated(
            axes=case.axes,
            framework=case.planned.framework,
            version=case.info.version if case.info else None,
            ratio=pair.ratio,
            low=pair.low,
            high=pair.high,
            process_pairs=pair.process_pairs,
            verdict=pair.verdict,
            detectable=detectable(pair.pairs),
            reason=pair.reason,
            next_step=pair.next_step,
            disturbances=pair.disturbances,
        )
        found.append(calibrated)
        if calibrated.detectable is not None:
            kept = Calibration(
                run=run.id,
                started=summary.started,
                ratios=pair.pairs,
                disturbances=pair.disturbances,
            )
            keep(run.identity(case), kept)
    return found


def rendered(found: Sequence[Calibrated], *, run: str, format_: str) -> RenderableType:
    from mbench.reports.formats import written
    from mbench.reports.terminal import Sentences
    from mbench.results.encoding import plain_record

    if format_ == "table":
        return Sentences([*map(line, found)])
    return written({"schema": 1, "run": run, "calibrations": [*map(plain_record, found)]})


def detectable(pairs: list[float]) -> float | None:
    """Smallest relative difference that this many pairs would detect; None if they are too few."""
    from mbench import stats

    known = stats.known_scatter([pairs])
    return stats.detectable(known, pairs=len(pairs)) if known else None


def line(found: Calibrated) -> Text:
    """One calibration in one sentence."""
    from rich.text import Text

    from mbench.reports.text import number, percent

    who = " ".join(filter(None, (found.framework, found.version)))
    what = f"{who}, {name(found.axes, less=MACHINE)}"
    if found.detectable is None:
        said = Text(f"{what}: not calibrated, {found.reason}")
        if step := found.next_step:
            pairs = counted(step.process_pairs, "more process pair")
            price = f"{pairs}, about {span(step.seconds)}"
            said.append(f"; {price}: the same command with {step.options}")
        return said
    said = Text(
        f"{what}: {found.process_pairs} process pairs find differences of "
        f"{percent(found.detectable)} (against itself {number(found.ratio)}, 95 % interval "
        f"{number(found.low)} .. {number(found.high)}, {found.verdict})"
    )
    if found.verdict in ("faster", "slower"):
        said.append("; identical code differs here, as happens once in 20 times: calibrate again")
    if found.disturbances:
        said.append("; ").append("DISTURBED", "disturbed")
        said.append(", " + "; ".join(found.disturbances))
    return said
