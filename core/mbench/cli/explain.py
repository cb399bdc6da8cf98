"""`mbench explain`: in which phases, stages and operators two frameworks' steps differ."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from mbench.cli.case_options import case_options
from mbench.cli.complete import arms
from mbench.cli.formats import format_options
from mbench.cli.measure import carry_out, order_for, order_of
from mbench.cli.options import ARMS, plugins, results_option
from mbench.cli.output import check_writable, deliver
from mbench.cli.protocols import protocol_options, resume_option
from mbench.cli.screen import screen_options
from mbench.cli.sweeps import sweep_of
from mbench.cli.switches import CaseCommand
from mbench.console import tell
from mbench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.plugins.manager import Plugins
    from mbench.results.records import Run
    from mbench.spec.order import Order
    from mbench.spec.planning import Comparison

__all__ = ["command", "following", "take_apart"]

PROTOCOL = "apart"
JOINED = ("table", "markdown")
"""Formats in which two reports follow each other."""
MANY = "one step is taken apart at a time: give one model, mode and batch size"


@click.command("explain", cls=CaseCommand)
@click.argument("subjects", nargs=-1, type=ARMS, metavar="[RUN|FRAMEWORK FRAMEWORK...]",
                shell_complete=arms(many=True))  # fmt: skip
@case_options
@protocol_options
@resume_option
@results_option
@format_options("table", "markdown", "csv", "json", "html")
@click.option(
    "--kernels",
    is_flag=True,
    help="Let one untimed step of each framework tell which kernels it calls: on the CPU by its "
    "libraries, on a device by its own profiler.",
)
@screen_options
@click.pass_context
def command(context: click.Context, /, subjects: tuple[tuple[str, ...], ...], **_: Any) -> None:
    """Say where the difference of two steps is found.

    The step is taken apart: each operator of the model is proven and timed by itself, in the same
    processes as the whole step, and taken as often as it stands in the model. A training step is
    taken apart by phase besides: forward, backward, update, clipping, dropout. ResNet and BERT are
    taken apart by depth: what the model takes longer with a stage twice as long. Of frameworks,
    that is measured now. Of a RUN that took a step apart, it is shown again; of another one, or
    the latest, it is measured for its first comparison.

    \b
    Examples:
      mbench explain torch tf --models resnet50 --mode inference
      mbench explain torch tf --models bert-base --processes 5
      mbench explain
      mbench explain 20260102 --format html --output why.html
    """
    named = [word for words in subjects for word in words]
    options = context.params
    check_writable(options["output"])
    if len(named) > 1:
        order = ordered(context, tuple(named))
    else:
        known = plugins(context)
        if named and (named[0] in known.adapters.by_name or named[0] in known.aliases):
            raise UsageError(
                f"explain takes two frameworks or more, or a RUN, not {named[0]} alone"
            )
        run = stored(context, named[0] if named else None)
        if run.header.protocol.together:
            if options["kernels"]:
                raise UsageError("kernels are told while a step is taken apart: name frameworks")
            show(run, options)
            return
        order = rest_of(context, run)
    context.exit(take_apart(context, order, kernels=options["kernels"]))


def take_apart(
    context: click.Context, order: Order, *, kernels: bool = False, after: bool = False
) -> int:
    """Measure and show; gives the exit code. A report that comes `after` another one stands in the
    same file.
    """
    from mbench.explain.kernels import kernels as told_kernels
    from mbench.progress import open_progress
    from mbench.results.run import load_run

    options = context.params
    progress = open_progress(verbosity=options["verbosity"], color=context.color)
    store, interrupted = carry_out(order, progress)
    failures = store.failures
    seen = [] if interrupted or not kernels else told_kernels(order, store, progress)
    show(load_run(store.folder), options, kernels=seen, after=after)
    if interrupted:
        tell(
            f"interrupted; what was measured is in {store.folder}, and the same command "
            f"with --resume {store.id} measures the rest"
        )
        return 130
    if options["verbosity"] != "quiet":
        tell(f"raw values in {store.folder}")
    return 1 if failures else 0


def show(
    run: Run,
    options: dict[str, Any],
    *,
    kernels: Sequence[dict[str, Any]] = (),
    after: bool = False,
) -> None:
    from mbench.explain.report import FORMATS
    from mbench.explain.summary import explain

    format_ = options["format_"]
    document = {**explain(run), "kernels": list(kernels)}
    text, output = FORMATS[format_](document), options["output"]
    if after:
        text = (output.read_text(encoding="utf-8") if output else "") + "\n" + text
    deliver(text, output, format_=format_)


def stored(context: click.Context, name: str | None) -> Run:
    from mbench.results.run import load_run, pick_run

    return load_run(pick_run(context.params["results"], name))


def ordered(context: click.Context, frameworks: tuple[str, ...]) -> Order:
    """What the options ask for, taken apart; raises UsageError."""
    options = {**context.params, "protocol_name": protocol(context)}
    if options["operators"]:
        raise UsageError("explain measures a model and its operators: name it with --models")
    order = order_of(context, [sweep_of(context, frameworks, options)], options)
    if len(order.comparisons) != 1:
        raise UsageError(MANY)
    return apart(order, order.comparisons[0])


def following(context: click.Context, order: Order) -> Order:
    """The same comparison taken apart, after it was measured as `order` says; raises UsageError."""
    options = {**context.params, "protocol_name": PROTOCOL, "resume": None}
    if options["format_"] not in JOINED or options["layout"]:
        raise UsageError(
            f"--explain adds to the formats {' and '.join(JOINED)}; for others there is mbench "
            "explain RUN --format, of the comparison's run",
            option="--explain",
        )
    if len(order.comparisons) != 1:
        raise UsageError(MANY, option="--explain")
    return apart(order_for(context, order.comparisons, options), order.comparisons[0])


def protocol(context: click.Context) -> str:
    from click.core import ParameterSource

    typed = context.get_parameter_source("protocol_name") is ParameterSource.COMMANDLINE
    if typed and context.params["protocol_name"] != PROTOCOL:
        raise UsageError(f"explain measures by the protocol {PROTOCOL}", option="--protocol")
    return PROTOCOL


def rest_of(context: click.Context, run: Run) -> Order:
    """What a run's first comparison lacks to be taken apart."""
    options = {**context.params, "protocol_name": protocol(context)}
    whole = comparison_of(run, plugins(context))
    return apart(order_for(context, (whole,), options), whole)


def comparison_of(run: Run, plugins: Plugins) -> Comparison:
    """The run's first comparison, planned as it was; raises UsageError where it has none."""
    from mbench.spec.arm import Arm
    from mbench.spec.planning import Comparison, Entry, find_adapter, supports

    if not run.cases:
        raise UsageError(f"{run.id} measured nothing that could be taken apart")
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
        raise UsageError(f"{run.id} compared nothing: name two frameworks")
    return Comparison(number=0, title=run.comparisons[number].title, entries=tuple(entries))


def apart(order: Order, whole: Comparison) -> Order:
    from mbench.explain.plan import taken_apart

    return replace(order, comparisons=tuple(taken_apart(whole)), mfu=False)
