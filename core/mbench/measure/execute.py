"""Executes a plan: what is open found, environments found, work proven equal, cases measured."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mbench.contract.reading import Malformed
from mbench.contract.tier import BEST
from mbench.engine.device_memory import room_on
from mbench.engine.outcome import CaseEnded
from mbench.errors import MbenchError
from mbench.explain.measure import measure_in_turn
from mbench.measure import facts
from mbench.measure.activity import CaseStopped, ComparisonBegan, RunPlanned
from mbench.measure.resume import is_done, is_ended, is_written
from mbench.measure.search import Search
from mbench.measure.verification import prove
from mbench.results import events

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.environments.environment import Environment
    from mbench.measure.measurement import Measurement
    from mbench.measure.run_context import RunContext
    from mbench.spec.planning import Comparison, Entry
    from mbench.spec.protocol import Protocol

__all__ = ["execute", "measurement_of"]


def execute(comparisons: Sequence[Comparison], bench: RunContext) -> None:
    """Measure every comparison.

    Whatever interrupts leaves a readable run behind; workers end with their set.
    """
    earlier = bench.earlier
    for comparison in comparisons:
        if earlier is None or comparison.number not in earlier.comparisons:
            bench.store.append(
                events.Comparison(
                    comparison=comparison.number,
                    title=comparison.title,
                    times=comparison.times,
                    stands=dict(comparison.stands),
                )
            )
        if comparison.settled and (earlier is None or not is_written(earlier, comparison)):
            write_cases(comparison, bench)
    missing = [c for c in comparisons if earlier is None or not is_done(earlier, c)]
    bench.listener.hear(RunPlanned(tuple(planned(missing, bench))))
    if bench.protocol.together:
        measure_together(missing, bench)
        return
    for comparison in missing:
        measure(comparison, bench)


def planned(comparisons: Sequence[Comparison], bench: RunContext) -> list[float | None]:
    """Seconds that each is expected to take. What is measured in the same processes comes once in
    each set of them, and all of it shares one budget.
    """
    seconds = [bench.expected.get(comparison.number) for comparison in comparisons]
    if not bench.protocol.together:
        return seconds
    sets = bench.protocol.processes
    parts = sets * len(seconds)
    return [None if each is None else each / parts for each in seconds] * sets


def measure_together(comparisons: Sequence[Comparison], bench: RunContext) -> None:
    """Comparisons of which nothing is open, in the same processes."""
    bench = replace(bench, room=room_on(comparisons[0].entries[0].case, bench.launcher))
    environments: dict[int, dict[str, Environment]] = {each.number: {} for each in comparisons}
    of_entry = {entry.number: each.number for each in comparisons for entry in each.entries}

    def lost(entry: Entry, end: CaseEnded) -> None:
        environments[of_entry[entry.number]].pop(entry.label, None)
        bench.store.append(facts.outcome(entry, end))
        bench.listener.hear(CaseStopped(entry.label, end))

    found = []
    for entry in [entry for comparison in comparisons for entry in comparison.entries]:
        if bench.earlier is not None and is_ended(bench.earlier, entry):
            continue
        try:
            environment = home(entry, bench)
        except (CaseEnded, MbenchError, Malformed) as error:
            lost(entry, CaseEnded.of(error))
        else:
            environments[of_entry[entry.number]][entry.label] = environment
            found.append((entry, environment))
    if bench.verify:
        for entry, end in prove(found, bench):
            lost(entry, end)
    measure_in_turn(comparisons, environments, bench)


def measure(comparison: Comparison, bench: RunContext) -> None:
    """One comparison, once what it leaves open is found."""
    bench = replace(bench, room=room_on(comparison.entries[0].case, bench.launcher))
    labels = tuple(entry.label for entry in comparison.entries)
    bench.listener.hear(ComparisonBegan(comparison.title, labels))
    ended: Mapping[str, CaseEnded] = {}
    if not comparison.settled:
        search = Search(comparison, bench)
        open_one, comparison = comparison, search.settle()
        ended = search.ended
        any_lost = any(end.outcome != "unsupported" for end in ended.values())
        beside = comparison.entries[0].case.tier != BEST  # where the default is measured, too
        same = open_one.best_compiler and comparison.entries == open_one.entries
        if beside and same and not any_lost:
            reason = "every framework's best compiler is its default"
            bench.store.append(events.ComparisonEnd(comparison=comparison.number, reason=reason))
            return
        write_cases(comparison, bench)
    environments: dict[str, Environment] = {}

    def lost(entry: Entry, end: CaseEnded) -> None:
        environments.pop(entry.label, None)
        bench.store.append(facts.outcome(entry, end))
        bench.listener.hear(CaseStopped(entry.label, end))

    found = []
    for entry in comparison.entries:
        if bench.earlier is not None and is_ended(bench.earlier, entry):
            continue
        try:
            if entry.label in ended:
                raise ended[entry.label]
            environments[entry.label] = home(entry, bench)
            found.append((entry, environments[entry.label]))
        except (CaseEnded, MbenchError, Malformed) as error:
            lost(entry, CaseEnded.of(error))
    if bench.verify:
        for entry, end in prove(found, bench):
            lost(entry, end)
    measurement_of(bench.protocol)(comparison, environments, bench).run()


def write_cases(comparison: Comparison, bench: RunContext) -> None:
    for case in facts.cases(comparison):
        bench.store.append(case)


def home(entry: Entry, bench: RunContext) -> Environment:
    """The environment of a case that can be measured; raises CaseEnded where it cannot."""
    if not entry.support.supported:
        raise CaseEnded(entry.lack, entry.support.reason)
    environment = bench.homes.of(entry)
    bench.store.append(facts.environment(entry, environment))
    return environment


def measurement_of(protocol: Protocol) -> type[Measurement[Any]]:
    """What measures by `protocol`."""
    module, _, name = protocol.measurement.partition(":")
    found: type[Measurement[Any]] = getattr(importlib.import_module(module), name)
    return found
