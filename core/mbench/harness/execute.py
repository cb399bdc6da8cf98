"""Runs a plan: environments found, work proven equal, everything measured and written down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mbench.engine.outcome import CaseEnded
from mbench.errors import MbenchError
from mbench.harness.ceiling import Ceilings
from mbench.harness.resume import is_done, is_ended, is_written
from mbench.harness.rounds import Interleaved
from mbench.harness.search import Search
from mbench.harness.sequential import Sequential
from mbench.plan.protocol import Counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mbench.environments.environment import Environment
    from mbench.harness.homes import Homes
    from mbench.harness.progress import Progress
    from mbench.plan.plan import Comparison, Entry
    from mbench.plan.protocol import Protocol
    from mbench.results.run import Run
    from mbench.results.store import RunWriter
    from mbench.telemetry.sampler import Sampler

__all__ = ["run_plan"]


def run_plan(
    comparisons: Sequence[Comparison],
    *,
    homes: Homes,
    protocol: Protocol | Counted,
    store: RunWriter,
    progress: Progress,
    sampler: Sampler,
    mfu: bool,
    prove: Callable[[Entry, Environment], None] | None,
    earlier: Run | None = None,
) -> None:
    """Measure every comparison. `prove` raises CaseEnded where the work is not equal.

    `mfu` says whether the machine's ceiling is measured too.
    Whatever interrupts leaves a readable run behind; workers end with their set. What `earlier`
    holds, which is the same run before it was interrupted, is not measured again.
    """
    ceilings = Ceilings(store) if mfu else None
    tools: dict[str, Any] = {"store": store, "progress": progress}
    for comparison in comparisons:
        if earlier is None or comparison.number not in earlier.comparisons:
            store.comparison(comparison)
        elif comparison.settled and not is_written(earlier, comparison):
            store.cases(comparison)
    for comparison in comparisons:
        if earlier is not None and is_done(earlier, comparison):
            continue
        progress.comparison(comparison.title, [entry.label for entry in comparison.entries])
        ended: dict[str, CaseEnded] = {}
        if not comparison.settled:
            search = Search(comparison, homes=homes, protocol=protocol, **tools)
            open_one, comparison = comparison, search.settle()
            ended = search.ended
            lost = any(end.outcome != "unsupported" for end in ended.values())
            if open_one.best_compiler and not lost and comparison.entries == open_one.entries:
                reason = "every framework's best compiler is its default"
                store.append("comparison_end", comparison=comparison.number, reason=reason)
                continue
            store.cases(comparison)
        environments = {}
        for entry in comparison.entries:
            if earlier is not None and is_ended(earlier, entry):
                continue
            try:
                if entry.label in ended:
                    raise ended[entry.label]
                if not entry.support.supported:
                    raise CaseEnded("unsupported", entry.support.reason)
                environment = homes.of(entry)
                store.environment(entry.number, environment)
                if prove is not None:
                    prove(entry, environment)
                environments[entry.label] = environment
            except (CaseEnded, MbenchError) as error:
                end = CaseEnded.of(error)
                store.outcome(entry.number, end)
                progress.ended(entry.label, end)
        kind: Any = Sequential if isinstance(protocol, Counted) else Interleaved
        kind(
            comparison, environments, protocol=protocol, sampler=sampler, ceilings=ceilings,
            earlier=earlier, **tools,
        ).run()  # fmt: skip
