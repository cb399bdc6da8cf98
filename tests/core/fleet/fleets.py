"""Fleets of made-up nodes."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np

from mbench.fleet.nodes import Computed, Fleet, MetricName, Node, NodeRun, Reading, ResultName
from mbench.results.seal import Seal

__all__ = ["CASE", "closed", "fleet_of", "name_of", "node_of", "printed", "run_of", "with_node"]

CASE = "case 0"
NOISE = 0.005


def name_of(at=0):
    return MetricName(case=f"case {at}", metric="throughput")


def run_of(random, run, *, slow=0.0, metrics=1, processes=5, noise=NOISE, better="higher", **more):
    """A run with values near 1000, worse by the share `slow`: in all metrics or by their number."""
    readings = {}
    for at in range(metrics):
        share = slow.get(at, 0.0) if isinstance(slow, dict) else slow
        sign = 1 if better == "higher" else -1
        logs = sign * (math.log1p(-share) + noise * random.standard_normal(processes))
        values = tuple(float(value) for value in 1000 * np.exp(logs))
        readings[name_of(at)] = Reading(values=values, unit="images/s", better=better)
    return NodeRun(
        run=run, started=run[-10:], command="mbench run x", **{"readings": readings, **more}
    )


def node_of(random, name, *, runs=1, **more):
    return Node(name=name, runs=tuple(run_of(random, f"{name} 2026-01-0{at + 1}", **more)
                                      for at in range(runs)))  # fmt: skip


def fleet_of(count=12, *, seed=1, odd=None, **more):
    """A fleet of nodes n0, n1, ...; `odd` has what is different about a node, by its number."""
    random = np.random.default_rng(seed)
    nodes = []
    for at in range(count):
        given = {**more, **(odd or {}).get(at, {})}
        nodes.append(node_of(random, f"n{at}", **given))
    return Fleet.of(nodes)


def with_node(fleet, at, **changes):
    """The fleet with `changes` to the last run of node number `at`."""
    nodes = list(fleet.nodes)
    runs = nodes[at].runs
    nodes[at] = replace(nodes[at], runs=(*runs[:-1], replace(runs[-1], **changes)))
    return Fleet.of(nodes)


def printed(*processes, what="loss of step 1", wrong=""):
    """What the case computed in each process; `wrong` is what its proof found."""
    return {CASE: Computed(results={ResultName(step=1, what=what): tuple(processes)}, wrong=wrong)}


def closed(lines):
    """The text of a run's file with these events; the last one, the end, gets the digest."""
    *texts, end = (json.dumps(line, separators=(",", ":"))
                   for line in [*lines[:-1], {**lines[-1], "digest": ""}])  # fmt: skip
    before = "".join(f"{text}\n" for text in texts)
    seal = Seal(before.encode())
    seal.take(end)
    return before + end.replace('"digest":""', f'"digest":"{seal.digest}"') + "\n"
