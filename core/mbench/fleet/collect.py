"""Finds the nodes of a fleet in folders: what is a node, and which runs belong to it."""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mbench.errors import UsageError
from mbench.fleet.nodes import Fleet, Node, in_order
from mbench.fleet.runs import read_run
from mbench.fleet.wording import short
from mbench.results.folder import EVENTS_FILE, find_runs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from mbench.fleet.nodes import NodeRun

__all__ = ["read_fleet"]


@dataclass
class Found:
    """A node while its runs are being found."""

    runs: list[NodeRun] = field(default_factory=list)
    hosts: dict[str, Path] = field(default_factory=dict)
    """Host names of its runs, and where each was found first."""
    places: list[Path | None] = field(default_factory=list)
    """Where each of its runs was found; None in files of other tools."""


def read_fleet(places: Sequence[Path], *, metric: str = "", more: Iterable[Node] = ()) -> Fleet:
    """The nodes in some folders, in any order.

    A folder that contains runs is a node with the folder's name. A folder whose runs come from
    several hosts contains a node for each host, and so does a folder given alone. A folder of such
    folders contains all their nodes; a subfolder without runs is a node without runs. `more`: nodes
    from other files.

    Raises UsageError for a folder without any run, and where a run occurs twice, or a name stands
    for two hosts.
    """
    nodes: dict[str, Found] = defaultdict(Found)
    for place in sorted(places):
        for name, runs, where in nodes_in(place, alone=len(places) == 1, metric=metric):
            add(nodes[name], name, runs, where)
    for node in more:
        if node.name in nodes:
            raise UsageError(f"the node {short(node.name)!r} appears twice: remove one of the two")
        nodes[node.name].runs.extend(node.runs)
        nodes[node.name].places.extend([None] * len(node.runs))
    once(nodes)
    return Fleet.of(
        Node(name=name, runs=tuple(sorted(one.runs, key=lambda run: (run.started, run.run))))
        for name, one in nodes.items()
    )


def nodes_in(place: Path, *, alone: bool, metric: str) -> Iterable[tuple[str, list[NodeRun], Path]]:
    """The nodes of one place, each with its runs; raises UsageError where there are none."""
    if not os.path.lexists(place):
        raise UsageError(f"there is no folder {place}")
    if place.name == EVENTS_FILE or (place / EVENTS_FILE).exists():
        folder = place.parent if place.name == EVENTS_FILE else place
        run = read_run(folder, metric=metric)
        if run is None:
            raise UsageError(
                f"{folder} is a run of explain, train or calibrate, which measures no node"
            )
        return [(run.host or folder.resolve().name, [run], folder)]
    if not place.is_dir():
        raise UsageError(f"{place} is neither a folder nor a run of mbench")
    if runs := find_runs(place):
        return by_host(place, runs, metric=metric, alone=alone)
    try:
        below = sorted(one for one in place.iterdir() if one.is_dir() and one.name[:1] != ".")
    except OSError as error:
        raise UsageError(f"cannot read {place}: {error.strerror}") from None
    if not any(find_runs(one) for one in below):
        raise UsageError(
            f"no runs in {place}: copy each node's runs into a folder of its own, as in "
            f"{place / 'NODE' / 'RUN' / EVENTS_FILE}"
        )
    found = []
    for one in below:
        runs = find_runs(one)
        found += by_host(one, runs, metric=metric, alone=False) if runs else [(one.name, [], one)]
    return found


def by_host(
    folder: Path, runs: Sequence[Path], *, metric: str, alone: bool
) -> list[tuple[str, list[NodeRun], Path]]:
    """The runs of a folder: of one node, or of one node per host."""
    read = [run for path in runs if (run := read_run(path, metric=metric)) is not None]
    hosts = {run.host for run in read if run.host}
    name = folder.resolve().name
    if len(hosts) <= 1 and not alone:
        return [(name, read, folder)]
    found: dict[str, list[NodeRun]] = defaultdict(list)
    for run in read:
        found[run.host or name].append(run)
    return [(host, ones, folder) for host, ones in found.items()]


def add(node: Found, name: str, runs: list[NodeRun], where: Path) -> None:
    """Add runs to a node; raises UsageError where they come from another host."""
    hosts = {run.host for run in runs if run.host}
    if node.hosts and hosts - node.hosts.keys():
        other = next(iter(node.hosts.values()))
        raise UsageError(
            f"the node {short(name)!r} appears twice, from two hosts: {other} and {where}; "
            "rename one folder"
        )
    node.hosts.update(dict.fromkeys(hosts, where))
    node.runs.extend(runs)
    node.places.extend([where] * len(runs))


def once(nodes: dict[str, Found]) -> None:
    """Raises UsageError where a run occurs twice: it would confirm itself."""
    seen: dict[str, str] = {}
    for name in sorted(nodes, key=in_order):
        for run, where in zip(nodes[name].runs, nodes[name].places, strict=True):
            place = f"{short(name)} (in {where})" if where else short(name)
            if run.run in seen:
                raise UsageError(
                    f"the run {short(run.run)} appears twice, as {seen[run.run]} and as {place}: "
                    "remove one copy"
                )
            if not run.problem:
                seen[run.run] = place
