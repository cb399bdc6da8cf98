"""Finds what a comparison leaves open: the largest batch that fits, the fastest compiler."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mbench.contract.reading import Malformed
from mbench.engine.memory import worker_limit_bytes
from mbench.engine.outcome import CaseEnded
from mbench.errors import MbenchError
from mbench.harness.trial import said, try_case
from mbench.plan.plan import supports
from mbench.results import events
from mbench.results.tried import Tried

if TYPE_CHECKING:
    from collections.abc import Callable

    from mbench.contract.case import Case
    from mbench.environments.environment import Environment
    from mbench.harness.bench import Bench
    from mbench.plan.plan import Comparison, Entry

__all__ = ["Search", "largest"]

RESOLUTION = 16


def largest(fits: Callable[[int], bool], *, start: int) -> int:
    """The largest size that fits, by doubling and then bisection; 0 where not even 1 does.

    It ends once the next size known not to fit is less than a sixteenth larger.
    """
    low, high, size = 0, 0, start
    while True:
        if fits(size):
            low = size
        else:
            high = size
        if not high:
            size = 2 * low
        elif high - low <= max(1, low // RESOLUTION):
            return low
        else:
            size = (low + high) // 2


class Search:
    """What is open in one comparison, found in throw-away workers, one at a time."""

    def __init__(
        self,
        comparison: Comparison,
        bench: Bench,
    ) -> None:
        self.comparison = comparison
        self.homes = bench.homes
        self.protocol = bench.protocol
        self.launcher = bench.launcher
        self.store = bench.store
        self.progress = bench.progress
        self.ended: dict[str, CaseEnded] = {}
        """By label: what fell short here, and will not be measured."""
        self.logs = 0
        self.limit_bytes: int | None = None
        """Workers that are to live side by side share the memory."""
        if comparison.entries[0].case.device == "cpu":
            together = len(comparison.entries) if self.protocol.side_by_side else 1
            self.limit_bytes = worker_limit_bytes(
                self.protocol.memory_limit_bytes, workers=together
            )

    def settle(self) -> Comparison:
        """The comparison with nothing left open. Cases that fall short are in `ended`."""
        comparison = self.comparison
        entries = comparison.entries
        if comparison.best_compiler:
            entries = tuple(self.guarded(entry, self.with_best_compiler) for entry in entries)
        if comparison.largest_batch:
            found = {entry.label: self.guarded(entry, self.with_largest_batch) for entry in entries}
            sizes = [e.case.batch_size for label, e in found.items() if label not in self.ended]
            common = min(sizes, default=1)
            entries = tuple(
                replace(entry, case=replace(entry.case, batch_size=common)) for entry in entries
            )
        return replace(comparison, entries=entries, largest_batch=False, best_compiler=False)

    def guarded(self, entry: Entry, find: Callable[[Entry], Entry]) -> Entry:
        """`entry` with what `find` finds; unchanged where that ends the case."""
        if entry.label not in self.ended:
            try:
                return find(entry)
            except (CaseEnded, MbenchError, Malformed) as error:
                end = CaseEnded.of(error)
                self.ended[entry.label] = end
        return entry

    def with_best_compiler(self, entry: Entry) -> Entry:
        """The compiler with the shortest steps, of those that run; the default need not."""
        case = entry.case
        if self.comparison.largest_batch:  # a batch of one is no case to be fast at
            case = replace(case, batch_size=case.resolve().batch_sizes[case.device])
        candidates = [replace(case, compiler=name) for name in entry.adapter.compilers]
        answers = [supports(entry.adapter, candidate) for candidate in candidates]
        if not any(support.supported for support in answers):
            raise CaseEnded(entry.lack, entry.support.reason)
        environment = self.homes.of(entry)
        tried = []
        for candidate, support in zip(candidates, answers, strict=True):
            name = candidate.compiler
            if support.supported:
                tried.append(self.attempt(name, entry, environment, candidate, steady=True))
            else:
                tried.append(Tried(value=name, outcome="unsupported", reason=support.reason))
        chosen = str(self.chosen(entry, "compiler", tried, key=lambda t: -(t.step_seconds or 0)))
        found = replace(entry.case, compiler=chosen)
        return replace(entry, case=found, support=supports(entry.adapter, found))

    def with_largest_batch(self, entry: Entry) -> Entry:
        """The largest batch of which two steps run within the memory that a worker may take."""
        if not entry.support.supported:
            raise CaseEnded(entry.lack, entry.support.reason)
        environment = self.homes.of(entry)
        tried: list[Tried] = []

        def fits(size: int) -> bool:
            case = replace(entry.case, batch_size=size)
            tried.append(self.attempt(size, entry, environment, case, steady=False))
            return tried[-1].outcome == "ok"

        largest(fits, start=entry.case.resolve().batch_sizes[entry.case.device])
        size = self.chosen(entry, "batch_size", tried, key=lambda trial: trial.value)
        return replace(entry, case=replace(entry.case, batch_size=size))

    def attempt(
        self, value: int | str, entry: Entry, environment: Environment, case: Case, *, steady: bool
    ) -> Tried:
        """One throw-away worker."""
        self.logs += 1
        log = f"{entry.number:03}-{entry.spec.name}-trial-{self.logs}.log"
        what = "compiler" if isinstance(value, str) else "batch"
        self.progress.phase(entry.label, f"trying {what} {value}")
        trial = try_case(
            value,
            entry,
            environment,
            case,
            log=self.store.log_path(log),
            timeout=self.protocol.timeout_seconds,
            launcher=self.launcher,
            limit_bytes=self.limit_bytes,
            steady=steady,
            timing=self.progress.timing,
        )
        self.progress.phase(entry.label, f"tried {what} {said(trial)}")
        return trial

    def chosen(
        self, entry: Entry, what: str, tried: list[Tried], *, key: Callable[[Tried], Any]
    ) -> Any:
        """The best of those that ran, written down with all of them; raises CaseEnded."""
        ran = [trial for trial in tried if trial.outcome == "ok"]
        value = max(ran, key=key).value if ran else None
        self.store.append(
            events.Search(
                comparison=self.comparison.number,
                label=entry.label,
                what=what,
                chosen=value,
                tried=tried,
            )
        )
        if value is None:
            worst = next((t for t in reversed(tried) if t.outcome != "unsupported"), tried[-1])
            raise CaseEnded(
                worst.outcome, f"{what.replace('_', ' ')} {worst.value}: {worst.reason}"
            )
        return value
