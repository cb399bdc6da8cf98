"""What compare and run share: from parsed options to a written run and its report."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from mbench.commands.foresee import foresee
from mbench.commands.options import chosen_outlet, chosen_report, plugins
from mbench.commands.output import check_writable, emit
from mbench.console import tell

if TYPE_CHECKING:
    from collections.abc import Sequence

    import click

    from mbench.plan.order import Order
    from mbench.plan.plan import Sweep

__all__ = ["measure", "order_of"]


def order_of(context: click.Context, sweeps: Sequence[Sweep], options: dict[str, Any]) -> Order:
    """What the command line asks for, planned; raises UsageError for what there is not."""
    from mbench.plan.order import Order
    from mbench.plan.plan import plan_all
    from mbench.plan.presets import choose

    return Order(
        comparisons=tuple(plan_all(sweeps, plugins(context))),
        protocol=choose(options["protocol_name"], options),
        launcher=plugins(context).launcher("local"),
        command=("mbench", *sys.argv[1:]),
        results=options["results"],
        resume=options.get("resume"),
        provision=options["provision"],
        verify=options["verify"],
        allow_unequal=options["allow_unequal"],
        mfu=options["mfu"],
    )


def measure(context: click.Context, order: Order) -> int:
    """Measure, report, and return the exit code. Ctrl-C reports what was measured so far."""
    options = context.params
    report = chosen_report(context, options["format_"], options["layout"])
    outlet = chosen_outlet(context, options["outlet"])
    check_writable(options["output"])
    from mbench.harness.beforehand import check
    from mbench.harness.conduct import conduct, rest_of
    from mbench.harness.progress import open_progress

    progress = open_progress(verbosity=options["verbosity"])
    if options["dry_run"]:
        foresee(rest_of(order, progress) if order.resume else order)
    for line in check(order):
        tell(line)
    if options["dry_run"]:
        return 0
    store, interrupted = conduct(order, progress)
    emit(store.folder, report, options["output"], outlet, format_=options["format_"])
    if interrupted:
        tell(
            f"interrupted; what was measured is in {store.folder}, and the same command "
            f"with --resume {store.id} measures the rest"
        )
        return 130
    if options["verbosity"] != "quiet":
        tell(f"raw values in {store.folder}")
    return 1 if store.failures else 0
