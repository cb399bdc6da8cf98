"""What commands and functions ask about a fleet, in folders of runs and in SuperBench's files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.errors import MbenchError, UsageError
from mbench.results.folder import EVENTS_FILE
from mbench.results.metrics import no_metric

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from mbench.fleet.baseline import BaselineFile
    from mbench.fleet.diagnosis import Diagnosis
    from mbench.fleet.nodes import Fleet, Node
    from mbench.fleet.summary import FleetSummary
    from mbench.fleet.superbench.results import Results
    from mbench.fleet.superbench.summary import RuleSummary
    from mbench.fleet.superbench.verdicts import RuleDiagnosis

__all__ = ["alone", "baseline_in", "diagnose_in", "medians_in", "summarize_in"]


def alone(**options: object) -> None:
    """Raises UsageError if an option is given that does not apply to SuperBench's files."""
    for name, value in options.items():
        if value is not None:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} cannot be used with SuperBench's files", option=option)


def diagnose_in(
    places: Sequence[Path],
    *,
    rules: Path | None = None,
    baseline: Path | None = None,
    false_alarms: float | None = None,
    margin: float | None = None,
    metric: str | None = None,
) -> Diagnosis | RuleDiagnosis:
    """The verdict on every node in some folders, by statistics or by a rules file."""
    if rules is not None:
        alone(metric=metric, false_alarms=false_alarms, margin=margin)
        return by_rules(places, rules, baseline)
    from mbench.fleet.baseline import read_baseline
    from mbench.fleet.diagnose import FALSE_ALARMS, MARGIN, diagnose

    known = read_baseline(baseline) if baseline else None
    return diagnose(
        fleet_in(places, metric or ""), baseline=known,
        false_alarms=FALSE_ALARMS if false_alarms is None else false_alarms,
        margin=MARGIN if margin is None else margin,
    )  # fmt: skip


def by_rules(places: Sequence[Path], rules: Path, baseline: Path | None) -> RuleDiagnosis:
    from mbench.fleet.superbench.baseline import read_baseline
    from mbench.fleet.superbench.diagnose import diagnose
    from mbench.fleet.superbench.rules import read_rules

    known = read_rules(rules)
    base = read_baseline(baseline) if baseline else None
    return diagnose(results_in(places), known, base, title=rules.name,
                    baseline_title=baseline.name if baseline else "")  # fmt: skip


def summarize_in(
    places: Sequence[Path], *, rules: Path | None = None, metric: str | None = None
) -> FleetSummary | RuleSummary:
    """Every metric over the nodes in some folders, or the statistics of a rules file."""
    if rules is None:
        from mbench.fleet.summary import summarize as over_fleet

        return over_fleet(fleet_in(places, metric or ""))
    alone(metric=metric)
    from mbench.fleet.superbench.rules import read_summary_rules
    from mbench.fleet.superbench.summary import summarize

    known = read_summary_rules(rules)
    return summarize(results_in(places), known, title=rules.name)


def baseline_in(
    places: Sequence[Path], *, force: bool = False, metric: str | None = None
) -> BaselineFile:
    """What a healthy fleet measures. Raises MbenchError if a node needs attention, unless a
    baseline is forced.
    """
    from mbench.fleet.baseline import baseline_of

    return baseline_of(healthy(places, force=force, metric=metric))


def medians_in(
    places: Sequence[Path], *, force: bool = False, metric: str | None = None
) -> Mapping[str, float]:
    """Like `baseline_in`, as a baseline of SuperBench: the median of each metric."""
    from mbench.fleet.superbench.baseline import medians

    alone(metric=metric)
    healthy(places, force=force)
    return medians(results_in(places))


def healthy(places: Sequence[Path], *, force: bool, metric: str | None = None) -> Fleet:
    from mbench.fleet.diagnose import diagnose
    from mbench.fleet.report import answer

    fleet = fleet_in(places, metric or "")
    found = diagnose(fleet)
    if found.exit_code == 1 and not force:
        raise MbenchError(f"{answer(found)}; leave these nodes out, or use --force")
    return fleet


def fleet_in(places: Sequence[Path], metric: str) -> Fleet:
    from mbench.fleet.collect import read_fleet

    left, nodes = nodes_in_files(places)
    fleet = read_fleet(left, metric=metric, more=nodes)
    known = dict.fromkeys(name for node in fleet.nodes for run in node.runs for name in run.metrics)
    if metric and known and metric not in known:
        raise no_metric(metric, known)
    return fleet


def nodes_in_files(places: Sequence[Path]) -> tuple[list[Path], list[Node]]:
    """Places that are folders of runs, and the nodes from those with SuperBench's results."""
    from mbench.fleet.superbench.results import nodes_of, read_results
    from mbench.fleet.superbench.runs import FILE

    left, nodes = [], []
    for place in places:
        inside = place / FILE
        if place.suffix == ".jsonl" and place.name != EVENTS_FILE and place.is_file():
            nodes += nodes_of(read_results(place))
        elif inside.is_file():
            nodes += nodes_of(read_results(inside))
        else:
            left.append(place)
    return left, nodes


def results_in(places: Sequence[Path]) -> Results:
    """The results of the named results-summary.jsonl, or of the one in the named folder.

    For a folder of mbench runs, this is what `mbench export --to superbench` writes.
    """
    from mbench.fleet.superbench.results import read_results
    from mbench.fleet.superbench.runs import FILE, results_of_runs

    if len(places) == 1 and places[0].is_dir() and (places[0] / FILE).exists():
        return read_results(places[0] / FILE)
    if len(places) == 1 and not places[0].is_dir():
        return read_results(places[0])
    if any(not place.is_dir() for place in places):
        raise UsageError(f"give one {FILE}, or folders of runs", option="DIR...")
    return results_of_runs(places)
