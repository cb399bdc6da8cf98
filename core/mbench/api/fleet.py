"""`mbench fleet` as functions: verdicts on the nodes of a fleet, as values."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mbench.api.call import in_python
from mbench.errors import UsageError
from mbench.spec.values import share

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.api.functions import Folder, Share
    from mbench.fleet.baseline import BaselineFile
    from mbench.fleet.diagnosis import Diagnosis
    from mbench.fleet.summary import FleetSummary
    from mbench.fleet.superbench.summary import RuleSummary
    from mbench.fleet.superbench.verdicts import RuleDiagnosis

__all__ = ["diagnose", "fleet_baseline", "fleet_summary"]


def diagnose(
    *folders: Folder,
    rules: Folder | None = None,
    baseline: Folder | None = None,
    false_alarms: Share | None = None,
    margin: Share | None = None,
    metric: str | None = None,
) -> Diagnosis | RuleDiagnosis:
    """Which nodes of a fleet are slow, wrong, missing or different, as `mbench fleet diagnose`.

    Each of `folders` has the runs of one node, or is a folder of such folders, or SuperBench's
    results-summary.jsonl. Returns a Diagnosis; with `rules`, a file of SuperBench's rules, a
    RuleDiagnosis. Both have `nodes`, `counts`, `named(verdict)`, `exit_code` and `to_json()`.
    Raises UsageError for folders without runs and for files that cannot be read.
    """
    from mbench.fleet.asked import diagnose_in

    with in_python():
        return diagnose_in(
            paths(folders),
            rules=path(rules),
            baseline=path(baseline),
            false_alarms=part("false_alarms", false_alarms),
            margin=part("margin", margin, zero=True),
            metric=metric,
        )


def fleet_summary(
    *folders: Folder,
    rules: Folder | None = None,
    metric: str | None = None,
) -> FleetSummary | RuleSummary:
    """Every metric over the nodes of a fleet, without a verdict, as `mbench fleet summary`.

    Returns a FleetSummary; with `rules`, a file of SuperBench's summary rules, a RuleSummary.
    """
    from mbench.fleet.asked import summarize_in

    with in_python():
        return summarize_in(paths(folders), rules=path(rules), metric=metric)


def fleet_baseline(
    *folders: Folder,
    output: Folder,
    force: bool = False,
    to_superbench: bool = False,
    metric: str | None = None,
) -> BaselineFile | Mapping[str, float]:
    """Keep what a healthy fleet measures in a file, as `mbench fleet baseline`.

    Returns what was written to `output`; with `to_superbench`, the median of each metric. Raises
    MbenchError if a node needs to be looked at, unless `force`.
    """
    from mbench.files import write_whole
    from mbench.fleet.asked import baseline_in, medians_in
    from mbench.fleet.baseline import written
    from mbench.fleet.superbench import baseline as superbench

    with in_python():
        places = paths(folders)
        if to_superbench:
            medians = medians_in(places, force=force, metric=metric)
            write_whole(Path(output), superbench.written(medians).encode())
            return medians
        made = baseline_in(places, force=force, metric=metric)
        write_whole(Path(output), written(made).encode())
        return made


def paths(folders: Sequence[Folder]) -> list[Path]:
    if not folders:
        raise UsageError("give a folder of runs")
    return [Path(folder) for folder in folders]


def path(place: Folder | None) -> Path | None:
    return None if place is None else Path(place)


def part(name: str, given: Share | None, *, zero: bool = False) -> float | None:
    """A share as options take it; raises a UsageError that names the keyword."""
    try:
        return None if given is None else share(given, zero=zero)
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from None
