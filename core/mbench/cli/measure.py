"""What compare and run share: from parsed options to a written run and its report."""

from __future__ import annotations

import sys
from itertools import combinations
from typing import TYPE_CHECKING, Any

from mbench.cli.defaults import of_files, outdone, tell_defaults
from mbench.cli.foresee import foresee
from mbench.cli.launching import launcher_of
from mbench.cli.options import chosen_exporter, chosen_report, plugins
from mbench.cli.output import check_writable, emit
from mbench.console import tell

if TYPE_CHECKING:
    from collections.abc import Sequence

    import click

    from mbench.measure.activity import Listener
    from mbench.results.store import RunWriter
    from mbench.spec.order import Order
    from mbench.spec.planning import Comparison, Sweep

__all__ = ["carry_out", "measure", "order_for", "order_of", "warn"]


def order_of(context: click.Context, sweeps: Sequence[Sweep], options: dict[str, Any]) -> Order:
    """What the command line asks for, planned; raises UsageError for what there is not."""
    from mbench.spec.planning import plan_all

    options = {**options, **dict.fromkeys(outdone(context))}
    tell_defaults(context)
    return order_for(context, tuple(plan_all(sweeps, plugins(context))), options)


def order_for(
    context: click.Context, comparisons: tuple[Comparison, ...], options: dict[str, Any]
) -> Order:
    """The same for comparisons that are planned already."""
    from mbench.cli.constants import effort_of, protocol_of
    from mbench.spec.order import Order

    return Order(
        comparisons=comparisons,
        protocol=protocol_of(options["protocol_name"], options),
        launcher=launcher_of(context, comparisons, options),
        command=("mbench", *sys.argv[1:], *of_files(context)[1]),
        results=options["results"],
        resume=options.get("resume"),
        provision=options["provision"],
        verify=options["verify"],
        allow_unequal=options["allow_unequal"],
        mfu=effort_of(options).get("mfu", True) if options["mfu"] is None else options["mfu"],
    )


def carry_out(order: Order, listener: Listener) -> tuple[RunWriter, bool]:
    """Measure, unless nothing can come of it; also say whether Ctrl-C ended it."""
    from mbench.measure.run import conduct

    warn(order)
    return conduct(order, listener)


def warn(order: Order) -> None:
    """Say what is doubtful about an order; raises UsageError where nothing can come of it."""
    from mbench.measure.preflight import check

    for line in [*check(order), *twins(order)]:
        tell(line)


def twins(order: Order) -> list[str]:
    """Entries that are the same; what is measured of them is noise, and not kept."""
    found: dict[str, None] = {}
    for comparison in order.comparisons:
        for one, other in combinations(comparison.entries, 2):
            if (one.spec, one.case) == (other.spec, other.case):
                found[f"{one.label} and {other.label} are the same, so they show this machine's "
                      "noise; mbench calibrate measures that, and keeps it"] = None  # fmt: skip
    return list(found)


def measure(context: click.Context, order: Order) -> int:
    """Measure, report, and return the exit code. Ctrl-C reports what was measured so far."""
    options = context.params
    report = chosen_report(context, options["format_"], options["layout"])
    exporter = chosen_exporter(context, options["exporter"])
    check_writable(options["output"])
    from mbench.measure.run import rest_of
    from mbench.progress import open_progress

    progress = open_progress(verbosity=options["verbosity"], color=context.color)
    if options["dry_run"]:
        foresee(rest_of(order, progress) if order.resume else order)
        warn(order)
        return 0
    store, interrupted = carry_out(order, progress)
    try:
        emit(store.folder, report, options["output"], exporter)
    except BaseException:  # Ctrl-C in a report that takes long, or one that cannot be made
        tell(
            f"no report, but what was measured is in {store.folder}: mbench show {store.id} shows "
            "it" + f", --resume {store.id} measures the rest" * interrupted
        )
        raise
    if interrupted:
        tell(
            f"interrupted; what was measured is in {store.folder}, and the same command "
            f"with --resume {store.id} measures the rest"
        )
        return 130
    if options["verbosity"] != "quiet":
        tell(f"raw values in {store.folder}")
    return 1 if store.failures else 0
