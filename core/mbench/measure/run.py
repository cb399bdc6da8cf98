"""Carries an order out: a run opened or taken up, everything measured, and the run closed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mbench.engine.isolation import inherited_variables, scratch
from mbench.engine.machines import machines
from mbench.errors import MbenchError, reason_of
from mbench.machine.sampler import Sampler
from mbench.machine.system import describe_system
from mbench.measure.activity import Decision, Stored
from mbench.measure.ceiling import Ceilings
from mbench.measure.environment_pool import EnvironmentPool
from mbench.measure.estimate import foreseen
from mbench.measure.execute import execute
from mbench.measure.preflight import check
from mbench.measure.resume import is_done, take_up
from mbench.measure.run_context import Measure, RunContext
from mbench.results.previous_runs import past_ratios
from mbench.results.run import file_of, load_run, pick_run
from mbench.results.runfile import RunFile
from mbench.results.store import RunWriter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.machine.records import System
    from mbench.measure.activity import Listener
    from mbench.results.records import Run
    from mbench.spec.order import Order
    from mbench.spec.planning import Comparison

__all__ = ["conduct", "rest_of"]


def conduct(
    order: Order, listener: Listener, *, measure: Measure = execute
) -> tuple[RunWriter, bool]:
    """Measure, and say whether Ctrl-C ended it; what was measured until then is written down."""
    check(order)
    environments = EnvironmentPool(
        comparisons=order.comparisons, accelerator=order.device, provision=order.provision,
        listener=listener,
    )  # fmt: skip
    store, comparisons, earlier = open_run(order, environments)
    bench = RunContext(
        protocol=order.protocol,
        launcher=order.launcher,
        environments=environments,
        store=store,
        listener=listener,
        sampler=Sampler(),
        verify=order.verify,
        allow_unequal=order.allow_unequal,
        ceilings=Ceilings(store, listener) if order.mfu else None,
        expected={each.comparison.number: each.seconds for each in foreseen(order)},
        earlier=earlier,
    )
    store.heard = lambda event: listener.hear(Stored(event))
    listener.hear(Decision(f"run {store.id}, raw values and logs in {store.folder}"))
    interrupted = False
    try:
        with scratch():
            measure(comparisons, bench)
        for found in past_ratios(store.run):
            store.append(found)
        store.end("complete")
        listener.close()
    except KeyboardInterrupt:
        interrupted = True
    except OSError as error:  # a full disk above all
        raise MbenchError(
            f"{reason_of(error)}; what was measured is in {store.folder}, and the same command "
            f"with --resume {store.id} measures the rest"
        ) from error
    finally:
        store.end("interrupted")
        listener.close()
    return store, interrupted


def open_run(
    order: Order, environments: EnvironmentPool
) -> tuple[RunWriter, Sequence[Comparison], Run | None]:
    """A new run, or the one that is resumed with what it had found; raises UsageError."""
    system = system_of(order)
    if order.resume is None:
        store = RunWriter(
            order.results, protocol=order.protocol, system=system, arguments=list(order.command)
        )
        return store, order.comparisons, None
    folder = pick_run(order.results, order.resume)
    try:
        file = RunFile(file_of(folder))
    except OSError as error:
        raise MbenchError(f"cannot resume {folder}: {error.strerror}") from None
    try:  # read once it is locked: until then another may write it
        comparisons, earlier = found_before(order, system, environments)
        store = RunWriter.reopen(file, earlier, arguments=list(order.command))
    except BaseException:  # Ctrl-C too must leave no lock
        file.close()
        raise
    return store, comparisons, earlier


def rest_of(order: Order, listener: Listener) -> Order:
    """What the run that is resumed lacks; raises UsageError where it cannot be. Builds nothing."""
    environments = EnvironmentPool(
        comparisons=order.comparisons, accelerator=order.device, provision=False, listener=listener
    )
    comparisons, earlier = found_before(order, system_of(order), environments)
    left = tuple(one for one in comparisons if not is_done(earlier, one))
    return replace(order, comparisons=left)


def found_before(
    order: Order, system: System, environments: EnvironmentPool
) -> tuple[list[Comparison], Run]:
    """All comparisons with what the run that is resumed had found for them, and that run."""
    assert order.resume is not None
    earlier = load_run(pick_run(order.results, order.resume))
    protocol = order.protocol
    return take_up(
        earlier, order.comparisons, protocol=protocol, system=system, environments=environments,
        there=machines(order.launcher),
    ), earlier  # fmt: skip


def system_of(order: Order) -> System:
    """This machine, with what its workers would inherit."""
    adapters = [entry.adapter for comparison in order.comparisons for entry in comparison.entries]
    return describe_system(inherited_variables(adapters))
