"""Runs of mbench as SuperBench's results: a line of metrics for each node."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from mbench.console import tell
from mbench.errors import UsageError
from mbench.fleet.runs import read_run
from mbench.fleet.superbench.names import rank
from mbench.fleet.superbench.results import Results
from mbench.fleet.superbench.words import few, short
from mbench.reports.compat_formats import superbench
from mbench.results.folder import find_runs
from mbench.results.run import load_run
from mbench.results.summary import analyse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["FILE", "ambiguous", "lines_of", "nodes_of_runs", "results_of_runs"]

FILE = "results-summary.jsonl"


def results_of_runs(places: Sequence[Path]) -> Results:
    """The runs in some folders, each for one node. Raises UsageError.

    A node whose run cannot be read, or is incomplete, has no metrics.
    """
    found = [run for place in sorted(places) for run in runs_below(place)]
    if not found:
        raise UsageError(f"no {FILE} and no runs in {', '.join(map(str, places))}")
    whole, broken = [], set()
    for run in found:
        seen = read_run(run)
        if seen is None:
            continue
        if seen.problem:
            tell(f"{seen.problem}: not judged")
            broken.add(seen.host or run.parent.name)
        else:
            whole.append(run)
    values = {node: {name: float(value) for name, value in metrics.items()}
              for node, metrics in nodes_of_runs(whole).items()}  # fmt: skip
    for node in sorted(broken):
        if node in values:
            raise UsageError(f"the node {short(node)!r} has two runs, one of which is incomplete: "
                             "remove that one")  # fmt: skip
        values[node] = {}
    names = sorted({name for metrics in values.values() for name in metrics})
    return Results(Path(places[0]), values, tuple(names))


def runs_below(place: Path) -> list[Path]:
    """The runs in a folder, or in its subfolders."""
    if found := find_runs(place):
        return list(found)
    below = sorted(one for one in place.iterdir() if one.is_dir()) if place.is_dir() else []
    return [run for one in below for run in find_runs(one)]


def nodes_of_runs(folders: Iterable[Path]) -> dict[str, dict[str, float | int]]:
    """Each node's metrics by SuperBench's names. Raises UsageError for a node's second run."""
    found: dict[str, dict[str, float | int]] = {}
    where: dict[str, Path] = {}
    for folder in folders:
        summary = analyse(load_run(folder))
        node = summary.system.hostname or summary.run
        if node in found:
            raise UsageError(
                f"the node {short(node)!r} has two runs, {where[node]} and {folder}: give only "
                "one of them; SuperBench keeps one line for each node"
            )
        found[node], where[node] = superbench.metrics(summary), folder
    return found


def lines_of(nodes: Mapping[str, Mapping[str, float | int]]) -> str:
    """The content of results-summary.jsonl."""
    return "".join(
        json.dumps({**metrics, "node": node}, allow_nan=False) + "\n"
        for node, metrics in nodes.items()
    )


def ambiguous(names: Iterable[str]) -> str:
    """A warning about names that SuperBench's `aggregate: True` would mix up; empty if there are
    none.

    SuperBench takes everything after the last colon for the rank: in an annotated name without a
    rank, that is nearly the whole name.
    """
    found = sorted(name for name in names if ":" in name and not rank(name))
    if not found:
        return ""
    return (f"with aggregate: True, SuperBench mixes up metrics that have an annotation but no "
            f"rank: {few(found)}; use aggregate: False for them")  # fmt: skip
