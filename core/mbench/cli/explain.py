"""`mbench explain`: in which phases, stages and operators two frameworks' steps differ."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from mbench.cli.completion import arms, completer, runs
from mbench.cli.formats import format_options
from mbench.cli.measure import execution_of, foresee, launchers_of, preflight_of
from mbench.cli.options import (
    ARMS,
    CaseCommand,
    case_options,
    check_options,
    explicit,
    given_of,
    launch_options,
    plugins,
    protocol_options,
    results_option,
)
from mbench.cli.output import check_writable, deliver, report_cut
from mbench.cli.screen import screen_options
from mbench.console import say, tell
from mbench.errors import MbenchError, UsageError
from mbench.spec.build import build, checks_of, launch_of, protocol_of

if TYPE_CHECKING:
    from mbench.explain.plan import Plan
    from mbench.explain.summary import Explanation
    from mbench.measure.preflight import Checked
    from mbench.measure.run import Execution
    from mbench.plugins.manager import Plugins
    from mbench.results.records import Run
    from mbench.spec.experiment import Experiment
    from mbench.spec.option import Given
    from mbench.spec.planning import Comparison

__all__ = ["REFUSED", "command", "following", "measure_and_show"]

JOINED = ("table", "markdown")
"""Formats in which two reports can follow each other."""
REFUSED = ("operators", "rigorous", "until", "max_processes", "protocol", "builds", "warmup_steps",
           "steps", "epochs", "warmup_epochs", "duration")  # fmt: skip
"""Options of other protocols, and the one that replaces the model: none fits a breakdown."""
MANY = "explain measures one comparison at a time: give one model, mode and batch size"


class Breakdown(NamedTuple):
    """A plan, and the checked experiment that measures it."""

    plan: Plan
    checked: Checked


@click.command("explain", cls=CaseCommand, usual=(
    "models", "mode", "batch_size", "amp", "tier", "processes", "budget", "resume", "kernels",
    "output",
), refused=REFUSED)  # fmt: skip
@click.argument("subjects", nargs=-1, type=ARMS, metavar="[RUN|FRAMEWORK FRAMEWORK...]",
                shell_complete=arms(many=True))  # fmt: skip
@case_options
@protocol_options
@launch_options
@check_options
@click.option("--resume", default=None, metavar="RUN", shell_complete=completer(runs),
              help="Continue RUN, with the same FRAMEWORKS and options: measure what is missing or "
              "did not fit its budget.")  # fmt: skip
@results_option
@format_options("table", "markdown", "csv", "json", "html")
@click.option(
    "--kernels/--no-kernels",
    default=None,
    help="List the kernels that one untimed step of each framework calls, and those of stages that "
    "differ: on the CPU as its libraries log them, on a device as its profiler records them. "
    "By default, list only those of the stages, if the budget has time left.",
)
@screen_options
@click.pass_context
def command(context: click.Context, /, subjects: tuple[tuple[str, ...], ...], **_: object) -> None:
    """Show where the difference between two frameworks' steps comes from.

    The step is broken down into the operators of the model. Each is proven and timed separately, in
    the same processes as the whole step, and counted as often as the step calls it. A training step
    is also broken down by phase: forward, backward, update, clipping, dropout. ResNet, BERT and
    Llama are broken down by depth: how much longer the model takes with a stage twice as long.

    FRAMEWORKS are measured. A RUN of explain is shown again; of any other RUN, the first comparison
    is measured. Without either, RUN is the latest. The protocol is explain's own.

    \b
    Examples:
      mbench explain torch tf --models resnet50 --mode inference
      mbench explain torch tf --models bert-base --processes 12
      mbench explain
      mbench explain 20260102 --format html --output why.html
    """
    named = [word for words in subjects for word in words]
    options = context.params
    check_writable(options["output"])
    if len(named) > 1:
        context.exit(measure_and_show(context, asked_for(context, tuple(named))))
    if named and plugins(context).framework(named[0]):
        raise UsageError(f"explain takes two or more frameworks, or a RUN, not {named[0]} alone")
    run = stored(context, named[0] if named else None)
    from mbench.explain.analysis import breakdown_of
    from mbench.explain.states import explained

    if breakdown_of(run) is None:
        context.exit(measure_and_show(context, of_run(context, run)))
    if options["kernels"]:
        raise UsageError("--kernels needs a new measurement: give the frameworks",
                         option="--kernels")  # fmt: skip
    if options["resume"]:
        raise UsageError("--resume continues a measurement: give its frameworks and options, too",
                         option="--resume")  # fmt: skip
    show(explained(run), options)


def measure_and_show(context: click.Context, breakdown: Breakdown, *, after: bool = False) -> int:
    """Measure and report; returns the exit code. A report `after` another one goes into the same
    file. With --dry-run, only print the plan.
    """
    from mbench.api.execution import warn
    from mbench.explain.analysis import load
    from mbench.explain.kernels import list_kernels
    from mbench.explain.measure import measure_breakdown
    from mbench.explain.states import explained
    from mbench.machine.absence import awake
    from mbench.measure.run import conduct
    from mbench.reports.progress import open_progress
    from mbench.results.run import remains

    options = context.params
    plan, checked = breakdown
    execution = execution_of(context)
    begin = awake()
    if after:
        execution = replace(execution, resume=None)
    if options.get("dry_run"):
        print_plan(breakdown, execution)
        warn(checked)
        return 0
    warn(checked)
    progress = open_progress(verbosity=options["verbosity"], color=context.color)
    store, interrupted = conduct(
        checked, execution, progress, measure=partial(measure_breakdown, plan)
    )
    failures = store.failures
    try:
        found = explained(load(store.folder))
    except MbenchError:
        if not interrupted:
            raise
        tell(f"interrupted; {remains(store.folder, store.id)}")
        return 130  # there is nothing to show yet
    asked = options.get("kernels")
    if asked is None:
        answered = any("difference_ms" in pair.to_json() for pair in found.differences)
        wanted = answered and may_list_kernels(checked, awake() - begin)
    else:
        wanted = asked
    if wanted and not interrupted:
        kernels = list_kernels(
            plan.whole, checked, store, progress, stages=named_stages(found), asked=asked is True
        )
        found = replace(found, kernels=kernels)
    show(found, options, after=after)
    if interrupted:
        tell(f"interrupted; {remains(store.folder, store.id)}")
        return 130
    if options["verbosity"] != "quiet":
        tell(f"raw values in {store.folder}")
    return 1 if failures else 0


def may_list_kernels(checked: Checked, seconds: float) -> bool:
    """Whether to list kernels unasked, `seconds` after the start: if the budget has time left, and
    each case runs in a single process on this machine.
    """
    from mbench.spec.adaptive import Adaptive

    protocol, launch = checked.experiment.protocol, checked.experiment.launch
    assert isinstance(protocol, Adaptive)  # see check_protocol
    alone = all(entry.case.devices == 1 for one in checked.comparisons for entry in one.entries)
    return seconds < protocol.budget_seconds and launch.launcher in (None, "local") and alone


def named_stages(found: Explanation) -> list[str]:
    """The stages that the answer names."""
    from mbench.explain.summary import Difference

    pairs = [pair for pair in found.differences if isinstance(pair, Difference)]
    return list(dict.fromkeys(one.part for pair in pairs for one in pair.answer if one.stage))


def print_plan(breakdown: Breakdown, execution: Execution) -> None:
    """Print, for `--dry-run`, the comparison, whose budget all parts share, the number of parts,
    and the unsupported ones.
    """
    from mbench.explain.plan import FEWEST_SETS

    plan, checked = breakdown
    foresee(replace(checked, comparisons=(plan.whole,)), execution)
    coarse = len(plan.coarse)
    say(
        f"first the step and {coarse - 1} phases and stages in at least {FEWEST_SETS} sets of "
        f"processes, then its {len(plan.comparisons) - coarse - 1} operators as far as the budget "
        "allows, starting with those that may explain most; proofs are made once, within the budget"
    )
    for comparison in plan.comparisons[1:]:
        for entry in comparison.entries:
            if not entry.support.supported:
                reason = entry.support.reason
                say(f"  {comparison.title}: {entry.label}: unsupported: {reason}")


def show(found: Explanation, options: dict[str, Any], *, after: bool = False) -> None:
    from mbench.explain.report import FORMATS

    format_ = options["format_"]
    deliver(FORMATS[format_](found), options["output"], after=after)


def stored(context: click.Context, name: str | None) -> Run:
    from mbench.explain.analysis import load
    from mbench.results.run import pick_run

    run = load(pick_run(context.params["results"], name, explained=True))
    report_cut(run)
    return run


def asked_for(context: click.Context, frameworks: tuple[str, ...]) -> Breakdown:
    """The breakdown that the options describe; raises UsageError."""
    given = given_for(context)
    if "operators" in given:
        said = "explain measures a model and its operators: give --models, not --operators"
        raise UsageError(said, option="--operators")
    checked = preflight_of(context, build(frameworks, given, plugins(context)))
    if len(checked.comparisons) != 1:
        raise UsageError(MANY)
    return broken_down(context, checked.experiment, checked.comparisons[0])


def following(context: click.Context, checked: Checked) -> Breakdown:
    """The breakdown that follows the measurement of a comparison; raises UsageError."""
    from mbench.explain.plan import PROTOCOL

    options = context.params
    if options["format_"] not in JOINED or options["layout"]:
        raise UsageError(
            f"--explain supports the formats {' and '.join(JOINED)} only; for others, use mbench "
            "explain RUN --format with the comparison's run",
            option="--explain",
        )
    if len(checked.comparisons) != 1:
        raise UsageError(MANY, option="--explain")
    protocol = protocol_of({**given_of(context), "protocol": PROTOCOL})
    experiment = replace(checked.experiment, protocol=protocol)
    return broken_down(context, experiment, checked.comparisons[0])


def of_run(context: click.Context, run: Run) -> Breakdown:
    """The breakdown of a run's first comparison; raises UsageError."""
    whole = comparison_of(run, plugins(context))
    case = whole.entries[0].case
    given = given_for(context)
    experiment = replace(
        run.header.experiment,
        protocol=protocol_of(given),
        launch=replace(launch_of(given), device=case.device, threads=case.threads),
        checks=checks_of(given),
    )
    return broken_down(context, experiment, whole)


def given_for(context: click.Context) -> Given:
    """The options, with explain's own protocol; raises UsageError for any other."""
    from mbench.explain.plan import PROTOCOL

    given = given_of(context)
    if "protocol" in explicit(context) and given["protocol"] != PROTOCOL:
        raise UsageError("explain has its own protocol: leave out --protocol",
                         option="--protocol")  # fmt: skip
    return {**given, "protocol": PROTOCOL}


def comparison_of(run: Run, plugins: Plugins) -> Comparison:
    """The run's first comparison, as it was planned; raises UsageError if it has none."""
    from mbench.spec.arm import Arm
    from mbench.spec.planning import Comparison, Entry, find_adapter, supports

    if not run.cases:
        raise UsageError(f"{run.id} measured nothing that could be explained")
    number = min(case.planned.comparison for case in run.cases.values())
    entries: list[Entry] = []
    for case in run.cases_of(number):
        spec = Arm(case.planned.spec).spec
        adapter = find_adapter(spec, plugins, device=case.axes.device)
        entry = Entry(
            number=len(entries),
            label=case.planned.label,
            spec=spec,
            adapter=adapter,
            case=case.axes,
            support=supports(adapter, case.axes),
            own_compiler=case.planned.own_compiler,
        )
        entries.append(entry)
    if len(entries) < 2:
        raise UsageError(f"{run.id} compared nothing: give two frameworks")
    return Comparison(number=0, title=run.comparisons[number].title, entries=tuple(entries))


def broken_down(context: click.Context, experiment: Experiment, whole: Comparison) -> Breakdown:
    """The breakdown of a comparison; raises UsageError."""
    from mbench.explain.plan import check_budget, check_protocol, plan_breakdown
    from mbench.measure.preflight import check_planned

    check_protocol(experiment.protocol)
    plan = plan_breakdown(whole)
    check_budget(plan, experiment.protocol)
    experiment = replace(experiment, checks=replace(experiment.checks, mfu=False))
    return Breakdown(plan, check_planned(experiment, plan.comparisons, launchers_of(context)))
