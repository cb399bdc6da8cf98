"""What earlier runs of this machine tell of a case."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mbench.errors import MbenchError
from mbench.results.figures import step_times
from mbench.results.run import find_runs, load_run

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["past_step_seconds"]

MOST_RUNS = 50


def past_step_seconds(
    folder: Path, *, hostname: str, cases: Mapping[int, tuple[str, dict[str, Any]]]
) -> dict[int, float]:
    """Seconds of a step by the number of the case, from the latest run that measured it here.

    `cases` are frameworks as they were given, and axes. What no run tells is left out.
    """
    wanted: dict[str, list[int]] = {}
    for number, (spec, axes) in cases.items():
        wanted.setdefault(key(spec, axes), []).append(number)
    found: dict[int, float] = {}
    for path in reversed(find_runs(folder)[-MOST_RUNS:]):
        if len(found) == len(cases):
            break
        try:
            run = load_run(path)
        except MbenchError:
            continue  # it tells nothing
        if run.header["system"].get("hostname") != hostname:
            continue
        for case in run.cases.values():
            times = step_times(case)
            if times is not None:
                for number in wanted.get(key(case.spec, case.axes), []):
                    found.setdefault(number, times["mean"] / 1e3)
    return found


def key(spec: str, axes: dict[str, Any]) -> str:
    """Cases of the same key take the same time."""
    return json.dumps([spec, {name: axes[name] for name in sorted(axes) if name != "seed"}])
