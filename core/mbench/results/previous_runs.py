"""What earlier runs of this machine tell of a case, and of two."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mbench.errors import MbenchError
from mbench.results import calibration, events
from mbench.results.comparisons import compare
from mbench.results.figures import step_times
from mbench.results.run import find_runs, load_run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from mbench.contract.case import Case
    from mbench.results.records import CaseRecord, Run

__all__ = ["past_ratios", "past_step_seconds"]

MOST_RUNS = 50
MOST_RATIOS = 9
"""Of two cases: how often a machine changes within a week is told by fewer."""


def latest(folder: Path) -> Iterator[Run]:
    """Runs that can be read, the last one first."""
    for path in reversed(find_runs(folder)[-MOST_RUNS:]):
        try:
            yield load_run(path)
        except MbenchError:
            continue  # it tells nothing


def past_step_seconds(
    folder: Path, *, hostname: str, cases: Mapping[int, tuple[str, Case]]
) -> dict[int, float]:
    """Seconds of a step by the number of the case, from the latest run that measured it here.

    `cases` are frameworks as they were given, and cases. What no run tells is left out.
    """
    wanted: dict[tuple[str, Case], list[int]] = {}
    for number, (spec, case) in cases.items():
        wanted.setdefault(key(spec, case), []).append(number)
    found: dict[int, float] = {}
    for run in latest(folder):
        if run.header.system.hostname == hostname:
            for record in run.cases.values():
                times = step_times(record)
                if times is not None:
                    for number in wanted.get(key(record.planned.spec, record.axes), []):
                        found.setdefault(number, times["mean"] / 1e3)
        if len(found) == len(cases):
            break
    return found


def key(spec: str, case: Case) -> tuple[str, Case]:
    """Cases of the same key take the same time."""
    return spec, replace(case, seed=0)


def past_ratios(run: Run) -> Iterator[events.PastRatio]:
    """What the latest runs before `run` tell of its ratios: of the same two cases on the same
    machine, by the same mbench, with the same proof, in either order.

    Those that began later are no earlier runs: `run` may have been taken up again.
    """
    wanted = {who: document["cases"] for who, document in told(run)}
    lacking = dict.fromkeys(wanted, MOST_RATIOS)
    for other in latest(run.folder.parent) if wanted else ():
        if other.id == run.id or other.header.started > run.header.started:
            continue
        if not {who[0] for who in wanted} & set(identities(other)):
            continue
        for (baseline, case, proof), document in told(other):
            ratio, low, high = document["ratio"], document["low"], document["high"]
            who = (baseline, case, proof)
            if who not in wanted:
                who, ratio, low, high = (case, baseline, proof), 1 / ratio, 1 / high, 1 / low
            if lacking.get(who):
                lacking[who] -= 1
                numbers = sorted(run.cases)
                yield events.PastRatio(
                    baseline=numbers[wanted[who][0]], case=numbers[wanted[who][1]],
                    run=other.id, started=other.header.started, ratio=ratio, low=low, high=high,
                    process_pairs=document["process_pairs"],
                )  # fmt: skip
        if not any(lacking.values()):
            break


def told(run: Run) -> Iterator[tuple[tuple[str, str, str], dict[str, Any]]]:
    """Each comparison with an interval, by its cases and what is known of their work."""
    cases = identities(run)
    for document in compare(run):
        if document["low"] is not None:
            baseline, case = (cases[at] for at in document["cases"])
            yield (baseline, case, document["equal_work"]), document


def identities(run: Run) -> list[str]:
    """What makes each case the same in another run, in the order of a summary's cases."""
    return [identity(run, run.cases[number]) for number in sorted(run.cases)]


def identity(run: Run, case: CaseRecord) -> str:
    version = case.info.version if case.info else ""
    holds_for = calibration.key(run.header.system, case.planned.framework, version, case.axes)
    named = {**holds_for, "spec": case.planned.spec, "nodes": sorted(case.nodes),
             "mbench": run.header.mbench}  # fmt: skip
    return json.dumps(named, sort_keys=True)
