"""`mbench calibrate`: how large a difference this machine shows where there is none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from mbench.cli.case_options import case_options
from mbench.cli.complete import arms
from mbench.cli.formats import format_options
from mbench.cli.measure import order_of
from mbench.cli.options import results_option
from mbench.cli.output import check_writable, deliver
from mbench.cli.protocols import protocol_options
from mbench.cli.screen import screen_options
from mbench.cli.sweeps import sweep_of
from mbench.cli.switches import CaseCommand
from mbench.console import tell
from mbench.contract.axes import AXES, MACHINE, name
from mbench.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import RenderableType

__all__ = ["command"]


@click.command("calibrate", cls=CaseCommand)
@click.argument("framework", shell_complete=arms())
@case_options
@protocol_options
@results_option
@format_options("table", "json")
@screen_options
@click.pass_context
def command(context: click.Context, /, framework: str, **options: Any) -> None:
    """Measure a framework against itself (A/A), and keep how far identical processes lie apart.

    Both sides are the same, so whatever differs is noise. Comparisons of the same case that are
    measured afterwards say what difference they can find here, and their intervals are made with
    what is known of the scatter.

    \b
    Examples:
      mbench calibrate torch
      mbench calibrate torch --models resnet50 --image-size 96 --batch-size 4 --processes 10
    """
    from mbench.measure.preflight import check
    from mbench.measure.run import conduct
    from mbench.progress import open_progress

    order = order_of(context, [sweep_of(context, (framework, framework), options)], options)
    if not order.protocol.side_by_side:
        raise UsageError("only the adaptive protocol compares processes that run side by side")
    if order.protocol.processes < 3:
        raise UsageError("few process pairs show no scatter; give --processes 3 or more")
    check_writable(options["output"])
    for doubt in check(order):
        tell(doubt)
    store, interrupted = conduct(
        order, open_progress(verbosity=options["verbosity"], color=context.color)
    )
    found = keep_calibrations(store.folder)
    if options["format_"] == "json":
        made = {"schema": 1, "run": store.id, "calibrations": found}
        report: RenderableType = json.dumps(made, indent=2) + "\n"
    else:
        from mbench.reports.terminal import Sentences

        report = Sentences([*map(line, found)])
    deliver(report, options["output"])
    if interrupted:
        tell(f"interrupted; what was measured is in {store.folder}")
        context.exit(130)
    context.exit(1 if store.failures or not found else 0)


def keep_calibrations(folder: Path) -> list[dict[str, Any]]:
    """Keep the ratios of every comparison in a run of A/A, and tell them as plain data."""
    from mbench.results.calibration import Calibration, keep
    from mbench.results.run import load_run
    from mbench.results.summary import analyse

    run = load_run(folder)
    summary = analyse(run)
    numbers = sorted(run.cases)
    found = []
    for pair in summary.comparisons:
        case = run.cases[numbers[pair.cases[0]]]
        calibrated: dict[str, Any] = {
            **{axis.name: axis.of(case.axes) for axis in AXES},
            "framework": case.planned.framework,
            "version": case.info.version if case.info else None,
            "ratio": pair.ratio,
            "low": pair.low,
            "high": pair.high,
            "process_pairs": pair.process_pairs,
            "verdict": pair.verdict,
            "detectable": detectable(pair.pairs),
            "reason": pair.reason,
            "disturbances": pair.disturbances,
        }
        found.append(calibrated)
        if calibrated["detectable"] is not None:
            kept = Calibration(
                run=run.id,
                started=summary.started,
                ratios=pair.pairs,
                disturbances=pair.disturbances,
            )
            keep(run.identity(case), kept)
    return found


def detectable(pairs: list[float]) -> float | None:
    """The difference that as many pairs would find; None where there are too few."""
    from mbench import stats

    known = stats.known_scatter([pairs])
    return stats.detectable(known, pairs=len(pairs)) if known else None


def line(calibrated: dict[str, Any]) -> str:
    """One calibration in one sentence."""
    from mbench.reports.text import number

    who = " ".join(filter(None, (calibrated["framework"], calibrated["version"])))
    what = f"{who}, {name(calibrated, less=MACHINE)}"
    if calibrated["detectable"] is None:
        return f"{what}: not calibrated, {calibrated['reason']}"
    percent = number(100 * calibrated["detectable"], 2)
    said = (
        f"{what}: {calibrated['process_pairs']} process pairs find differences of {percent} % "
        f"(against itself {number(calibrated['ratio'])}, 95 % interval "
        f"{number(calibrated['low'])} .. {number(calibrated['high'])}, {calibrated['verdict']})"
    )
    if calibrated["verdict"] in ("faster", "slower"):
        said += "; identical code differs here, as it does once in 20 times: calibrate again"
    if calibrated["disturbances"]:
        said += "; DISTURBED, " + "; ".join(calibrated["disturbances"])
    return said
