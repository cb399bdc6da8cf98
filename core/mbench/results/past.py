"""What earlier runs of this machine tell of a case."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mbench.errors import MbenchError
from mbench.results.figures import step_times
from mbench.results.run import find_runs, load_run

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mbench.contract.case import Case

__all__ = ["past_step_seconds"]

MOST_RUNS = 50


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
    for path in reversed(find_runs(folder)[-MOST_RUNS:]):
        if len(found) == len(cases):
            break
        try:
            run = load_run(path)
        except MbenchError:
            continue  # it tells nothing
        if run.header.system.hostname != hostname:
            continue
        for record in run.cases.values():
            times = step_times(record)
            if times is not None:
                for number in wanted.get(key(record.planned.spec, record.axes), []):
                    found.setdefault(number, times["mean"] / 1e3)
    return found


def key(spec: str, case: Case) -> tuple[str, Case]:
    """Cases of the same key take the same time."""
    return spec, replace(case, seed=0)
