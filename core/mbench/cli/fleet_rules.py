"""`mbench fleet` with SuperBench's files: rules, results and baselines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.cli.output import check_writable, deliver
from mbench.console import counted, tell
from mbench.errors import UsageError
from mbench.results.folder import EVENTS_FILE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mbench.fleet.nodes import Node
    from mbench.fleet.superbench.results import Results

__all__ = ["baseline_by_medians", "diagnose_by_rules", "nodes_in_files", "summarize_by_rules"]


def nodes_in_files(places: Sequence[Path]) -> tuple[list[Path], list[Node]]:
    """Places that are folders of runs, and the nodes of those that are SuperBench's results."""
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


def results_of(places: Sequence[Path]) -> Results:
    """The results-summary.jsonl that is named, or that is in the folder that is named.

    A folder of runs of mbench gives what `mbench export --to superbench` writes of them.
    """
    from mbench.fleet.superbench.results import read_results
    from mbench.fleet.superbench.runs import FILE, results_of_runs

    if len(places) == 1 and places[0].is_dir() and (places[0] / FILE).exists():
        return read_results(places[0] / FILE)
    if len(places) == 1 and not places[0].is_dir():
        return read_results(places[0])
    if any(not place.is_dir() for place in places):
        raise UsageError(f"name one {FILE}, or folders of runs", option="DIR...")
    return results_of_runs(places)


def diagnose_by_rules(
    places: Sequence[Path], rules: Path, baseline: Path | None, *, format_: str,
    output: Path | None,
) -> int:  # fmt: skip
    """Judge nodes by a file of rules; returns the exit code."""
    from mbench.fleet.superbench.baseline import read_baseline
    from mbench.fleet.superbench.diagnose import diagnose
    from mbench.fleet.superbench.report import FORMATS, answer
    from mbench.fleet.superbench.rules import read_rules

    check_writable(output)
    known = read_rules(rules)
    base = read_baseline(baseline) if baseline else None
    found = diagnose(results_of(places), known, base, title=rules.name,
                     baseline_title=baseline.name if baseline else "")  # fmt: skip
    deliver(FORMATS[format_](found), output)
    if output is not None or format_ not in ("table", "markdown"):
        tell(answer(found))
    return found.exit_code


def summarize_by_rules(
    places: Sequence[Path], rules: Path, *, format_: str, output: Path | None
) -> None:
    """Statistics by a file of rules."""
    from mbench.fleet.superbench.report import SUMMARY_FORMATS
    from mbench.fleet.superbench.rules import read_summary_rules
    from mbench.fleet.superbench.summary import summarize

    check_writable(output)
    known = read_summary_rules(rules)
    found = summarize(results_of(places), known, title=rules.name)
    deliver(SUMMARY_FORMATS[format_](found), output)


def baseline_by_medians(places: Sequence[Path], output: Path) -> None:
    """Write SuperBench's baseline: each metric's median over the nodes."""
    from mbench.fleet.superbench.baseline import medians, written

    check_writable(output)
    results = results_of(places)
    found = medians(results)
    deliver(written(found), output)
    tell(f"{output}: {counted(len(found), 'metric')}, medians of "
         f"{counted(len(results.nodes), 'node')}")  # fmt: skip
