"""What earlier runs on this machine say about one case, and about two."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mbench.errors import MbenchError
from mbench.results import events
from mbench.results.comparisons import compare
from mbench.results.figures import mean_step_time
from mbench.results.identity import REPEATED, STEP_TIME
from mbench.results.run import find_runs, load_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from mbench.results.identity import CaseIdentity
    from mbench.results.pair_summary import PairSummary
    from mbench.results.records import Run

    Tuning = Callable[[Mapping[str, str]], Mapping[str, str]]

__all__ = ["past_ratios", "past_set_seconds", "past_step_seconds"]

MOST_RUNS = 50
MOST_FOR_SETS = 10
"""Number of runs searched for a case that is about to be measured: more would keep the user
waiting."""
MOST_RATIOS = 9
"""Most ratios of two cases that are used; fewer are enough to show how often a machine changes
within a week."""


def latest(folder: Path, *, most: int = MOST_RUNS, before: str = "") -> Iterator[Run]:
    """Runs that can be read, latest first; with `before`, only those made before that run."""
    runs = find_runs(folder)
    names = [path.name for path in runs]
    end = names.index(before) if before in names else len(names)
    for path in reversed(runs[max(0, end - most) : end]):
        try:
            yield load_run(path)
        except MbenchError:
            continue  # nothing can be learnt from it


def past_step_seconds(folder: Path, cases: Mapping[int, CaseIdentity]) -> dict[int, float]:
    """Seconds of a step by the number of the case, from the latest run that measured it here.

    Cases that no run measured are left out.
    """
    wanted: dict[str, list[int]] = {}
    for number, case in cases.items():
        wanted.setdefault(case.key(STEP_TIME), []).append(number)
    found: dict[int, float] = {}
    for run in latest(folder):
        for record in run.cases.values():
            numbers = wanted.get(run.identity(record).key(STEP_TIME), ())
            milliseconds = mean_step_time(record) if numbers else None
            if milliseconds is not None:
                for number in numbers:
                    found.setdefault(number, milliseconds / 1e3)
        if len(found) == len(cases):
            break
    return found


def past_set_seconds(folder: Path, cases: Sequence[CaseIdentity]) -> float | None:
    """How long a set of fresh processes of these cases took in the latest run that compared them
    here; None if none of the last few did.
    """
    wanted = sorted(case.key(STEP_TIME) for case in cases)
    for run in latest(folder, most=MOST_FOR_SETS):
        for number, comparison in run.comparisons.items():
            there = run.cases_of(number)
            keys = sorted(run.identity(case).key(STEP_TIME) for case in there)
            if comparison.set_seconds is not None and keys == wanted:
                return comparison.set_seconds
    return None


def past_ratios(
    run: Run, *, most: int = MOST_RUNS, tuning: Tuning = dict
) -> Iterator[events.PastRatio]:
    """What the latest runs before `run` say about its ratios: those of the same two cases on the
    same machine, by the same mbench, in either order. Each pair has at most one from each run.

    Runs that were made after `run` are left out: `run` may have been resumed. `most` is how many
    runs are read. `tuning` selects the variables that tune a framework; cases that differ only in
    other variables are the same.
    """
    # A framework may have been given twice, so several pairs may be of the same two cases.
    wanted: dict[frozenset[str], list[tuple[str, PairSummary]]] = {}
    for (baseline, case), pair in with_intervals(run, tuning):
        wanted.setdefault(frozenset((baseline, case)), []).append((baseline, pair))
    lacking = dict.fromkeys(wanted, MOST_RATIOS)
    numbers = sorted(run.cases)
    for other in latest(run.folder.parent, most=most, before=run.folder.name) if wanted else ():
        known = frozenset(identities(other, tuning))
        if not any(who <= known for who in wanted):
            continue
        told = set()
        for (baseline, case), pair in with_intervals(other, tuning):
            who = frozenset((baseline, case))
            if who in told or not lacking.get(who):
                continue
            told.add(who)
            lacking[who] -= 1
            assert pair.ratio is not None
            assert pair.low is not None
            assert pair.high is not None
            for ours, same in wanted[who]:
                ratio, low, high = pair.ratio, pair.low, pair.high
                if ours != baseline:
                    ratio, low, high = 1 / ratio, 1 / high, 1 / low
                first, second = same.cases
                yield events.PastRatio(
                    baseline=numbers[first], case=numbers[second],
                    run=other.id, started=other.header.started, ratio=ratio, low=low, high=high,
                    process_pairs=pair.process_pairs,
                )  # fmt: skip
        if not any(lacking.values()):
            break


def with_intervals(run: Run, tuning: Tuning) -> Iterator[tuple[tuple[str, str], PairSummary]]:
    """Each comparison with an interval, by its cases. Comparisons of unequal work, and those whose
    spoilt pairs leave too few others, are left out.
    """
    cases = identities(run, tuning)
    for pair in compare(run):
        if pair.low is not None and pair.equal_work != "not proven" and pair.believable:
            baseline, case = (cases[at] for at in pair.cases)
            yield (baseline, case), pair


def identities(run: Run, tuning: Tuning) -> list[str]:
    """What identifies each case in another run, in the order of a summary's cases."""
    found = []
    for _, record in sorted(run.cases.items()):
        identity = run.identity(record)
        axes = replace(identity.axes, variables=tuning(identity.axes.variables))
        found.append(replace(identity, axes=axes).key(REPEATED))
    return found
