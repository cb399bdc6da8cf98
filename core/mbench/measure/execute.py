"""Executes a plan: settles what is open, finds environments, proves equal work, measures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mbench.contract.reading import Malformed
from mbench.contract.tier import BEST
from mbench.engine.memory import device_memory_of
from mbench.engine.outcome import CaseEnded
from mbench.errors import MbenchError
from mbench.measure import facts
from mbench.measure.activity import CaseStopped, ComparisonBegan, PhaseBegan, RunPlanned
from mbench.measure.feeding import data_set, reads_files
from mbench.measure.fixed_steps import Sequential
from mbench.measure.pixel_proof import prove_pixels
from mbench.measure.resume import is_done, is_ended, is_written
from mbench.measure.rounds import Interleaved
from mbench.measure.search import Search
from mbench.measure.verification import prove
from mbench.results import events
from mbench.spec.adaptive import Adaptive
from mbench.spec.fixed_steps import Counted
from mbench.spec.planning import OperatorComparison

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.environments.environment import Environment
    from mbench.measure.run_context import RunContext
    from mbench.spec.planning import Comparison, Entry
    from mbench.spec.protocol import Protocol

__all__ = ["announce", "environments_for", "execute", "measurement_of"]


MEASUREMENTS: Mapping[type[Protocol], type[Interleaved | Sequential]] = {
    Adaptive: Interleaved,
    Counted: Sequential,
}
"""The class that measures under each kind of protocol."""


def execute(comparisons: Sequence[Comparison], context: RunContext) -> None:
    """Measure every comparison. An interruption leaves a readable run behind."""
    missing = announce(comparisons, context)
    seconds = tuple(context.expected.get(comparison.number) for comparison in missing)
    context.listener.hear(RunPlanned(seconds))
    for comparison in missing:
        measure(comparison, context)


def announce(comparisons: Sequence[Comparison], context: RunContext) -> list[Comparison]:
    """Record every comparison, with its cases if they are known; returns those still to be
    measured.
    """
    earlier = context.earlier
    for comparison in comparisons:
        number = comparison.number
        if earlier is None or number not in earlier.comparisons:
            context.store.append(events.Comparison(comparison=number, title=comparison.title))
            if isinstance(comparison, OperatorComparison):
                counts = dict(comparison.counts)
                context.store.append(events.OperatorCounts(comparison=number, counts=counts))
        if comparison.settled and (earlier is None or not is_written(earlier, comparison)):
            write_cases(comparison, context)
    return [
        c for c in comparisons
        if earlier is None or not is_done(earlier, c) or c.number in context.further
    ]  # fmt: skip


def measure(comparison: Comparison, context: RunContext) -> None:
    """Measure one comparison, after a search for what it leaves open."""
    context = replace(
        context,
        protocol=context.further.get(comparison.number, context.protocol),
        device_memory=device_memory_of(comparison.entries[0].case, context.launcher),
    )
    labels = tuple(entry.label for entry in comparison.entries)
    context.listener.hear(ComparisonBegan(comparison.title, labels))
    ended: Mapping[str, CaseEnded] = {}
    if not comparison.settled:
        search = Search(comparison, context)
        open_one, comparison = comparison, search.settle()
        ended = search.ended
        any_lost = any(end.outcome != "unsupported" for end in ended.values())
        beside = comparison.entries[0].case.tier != BEST  # where the default is measured, too
        same = open_one.best_compiler and comparison.entries == open_one.entries
        if beside and same and not any_lost:
            reason = "every framework's best compiler is its default"
            context.store.append(events.ComparisonEnd(comparison=comparison.number, reason=reason))
            return
        write_cases(comparison, context)
    if reads_files(comparison.entries[0].case):
        try:
            context.store.append(data_set(comparison.number, comparison.entries[0].case))
        except CaseEnded as end:  # a file cannot be read
            ended = {entry.label: end for entry in comparison.entries}
    found = environments_for(comparison.entries, context, ended=ended)
    environments = {e.label: found[e.number] for e in comparison.entries if e.number in found}
    measurement_of(context.protocol)(comparison, environments, context).run()


def environments_for(
    entries: Sequence[Entry], context: RunContext, *, ended: Mapping[str, CaseEnded] | None = None
) -> dict[int, Environment]:
    """The environments of the entries that can be measured and whose work is proven, by number.

    The outcome of all others is recorded. `ended` are those that failed in a search, by label.
    """
    found: dict[int, Environment] = {}

    def drop(entry: Entry, end: CaseEnded) -> None:
        found.pop(entry.number, None)
        context.store.append(facts.outcome(entry, end))
        context.listener.hear(CaseStopped(entry.label, end))

    for entry in entries:
        if context.earlier is not None and is_ended(context.earlier, entry):
            continue
        try:
            if ended and entry.label in ended:
                raise ended[entry.label]
            found[entry.number] = environment_for(entry, context)
        except (CaseEnded, MbenchError, Malformed) as error:
            drop(entry, CaseEnded.of(error))
    if context.verify:
        known = [(entry, found[entry.number]) for entry in entries if entry.number in found]
        for entry, end in prove(known, context):
            drop(entry, end)
        for entry, environment in known:
            if entry.number in found and reads_files(entry.case):
                context.listener.hear(PhaseBegan(entry.label, "proving its pixels"))
                try:
                    prove_pixels(entry, environment, context)
                except (CaseEnded, MbenchError, Malformed) as error:
                    drop(entry, CaseEnded.of(error))
    return found


def write_cases(comparison: Comparison, context: RunContext) -> None:
    for case in facts.cases(comparison):
        context.store.append(case)


def environment_for(entry: Entry, context: RunContext) -> Environment:
    """Find and record a case's environment; raises CaseEnded if it cannot be measured."""
    if not entry.support.supported:
        raise CaseEnded(entry.lack, entry.support.reason)
    environment = context.environments.environment_for(entry)
    context.store.append(facts.environment(entry, environment))
    return environment


def measurement_of(protocol: Protocol) -> type[Interleaved | Sequential]:
    """The class that measures under `protocol`."""
    return next(found for kind, found in MEASUREMENTS.items() if isinstance(protocol, kind))
