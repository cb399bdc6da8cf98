"""Simulates fleets: how often a healthy one raises an alarm, and how often a slow node is found.

    python benchmarks/fleet.py --values > core/mbench/fleet/critical_values.py
    python benchmarks/fleet.py --trials 400 > fleet.md

The first command makes the critical values that `mbench fleet diagnose` looks up. The second makes
the table in docs/fleet.md, with the same function that the command calls.
"""

from __future__ import annotations

import argparse
import math
import sys

import numpy as np

import mbench
from mbench.fleet.diagnose import diagnose
from mbench.fleet.nodes import Fleet, MetricName, Node, NodeRun, Reading

SIZES = (*range(5, 21), 24, 32, 48, 64, 100, 200, 500, 1000)
SHARES = (0.5, 0.2, 0.1, 0.05, 0.025, 0.01, 0.005, 0.0025, 0.001, 0.0005, 0.0002, 0.0001)
KEPT, CONSISTENT = 0.75, 0.6215
NUMBERS = 2**25
"""Most fleets simulated for each size."""


def lowest(values: np.ndarray) -> np.ndarray:
    """For each row, how many scales its lowest value is below the others."""
    ordered = np.sort(values, axis=1)
    rest = ordered[:, 1:]
    center = np.median(rest, axis=1)
    kept = math.ceil(KEPT * rest.shape[1])
    near = np.partition(np.abs(rest - center[:, None]), kept - 1, axis=1)[:, :kept]
    return (center - ordered[:, 0]) * CONSISTENT / np.sqrt(np.mean(near**2, axis=1))


def split(values: np.ndarray) -> np.ndarray:
    """For each row, the largest distance between two groups, in deviations."""
    ordered = np.sort(values, axis=1)
    count = ordered.shape[1]
    least = max(2, count // 4 + 1)
    sizes = np.arange(least, count - least + 1)
    if not len(sizes):
        return np.full(len(ordered), 1e9)
    moved = ordered - ordered[:, :1]
    sums, squares = np.cumsum(moved, axis=1), np.sum(moved**2, axis=1)
    low = sums[:, sizes - 1] / sizes
    high = (sums[:, -1:] - sums[:, sizes - 1]) / (count - sizes)
    within = squares[:, None] - sizes * low**2 - (count - sizes) * high**2
    return np.max((high - low) / np.sqrt(np.maximum(within, 1e-18) / (count - 2)), axis=1)


def values_file(seed: int) -> str:
    """The module of critical values."""
    tables = {}
    for name, draw, of in (
        ("NORMAL", lambda r, s: r.standard_normal(s), lowest),
        ("HEAVY", lambda r, s: r.standard_t(3, s), lowest),
        ("GROUPS", lambda r, s: r.random(s), split),
    ):
        random = np.random.default_rng(seed)
        rows = []
        for nodes in SIZES:
            if name == "HEAVY" and nodes > 64:
                break
            trials = min(400_000, NUMBERS // nodes)
            batch = max(1, 2**21 // nodes)
            found = np.concatenate(
                [of(draw(random, (batch, nodes))) for _ in range(-(-trials // batch))]
            )
            cells = ", ".join(
                f"({share:g}, {np.quantile(found, 1 - share):.4g})"
                for share in SHARES if share * len(found) >= 10
            )  # fmt: skip
            rows.append(f"    {nodes}: ({cells}),")
        tables[name] = "\n".join(rows)
    says = {
        "NORMAL": "By number of nodes, (share, value): in that share of fleets, the lowest of "
        "normally distributed\nvalues lies more than that many scales below the others.",
        "HEAVY": "Like NORMAL, for Student's t-distribution with 3 degrees of freedom.",
        "GROUPS": "By number of nodes, (share, value): in that share of fleets, evenly spread "
        "values fall into two\ngroups more than that many deviations within groups apart.",
    }
    head = (
        f'"""Critical values by Monte Carlo, from benchmarks/fleet.py (seed {seed})."""\n',
        "from __future__ import annotations\n",
        '__all__ = ["GROUPS", "HEAVY", "NORMAL"]\n',
        "Table = dict[int, tuple[tuple[float, float], ...]]\n",
        "# fmt: off\n# ruff: noqa: E501\n",
    )
    made = [f'{n}: Table = {{\n{rows}\n}}\n"""{says[n]}"""\n' for n, rows in tables.items()]
    return "\n".join([*head, *made])


METRICS = [MetricName(case=f"benchmark {at}", metric="throughput") for at in range(1000)]
NOISE, PROCESSES = 0.01, 5


def drawn(random, kind, *shape):
    """Noise of the given kind with a scale of 1."""
    if kind == "heavy":
        return random.standard_t(3, shape) / 1.13  # the same scale around its centre
    return random.standard_normal(shape)


def fleet_of(random, kind, nodes, metrics, *, offsets=NOISE, slow=None, again=()):
    """A fleet of made-up nodes, some `slow` by a share; `again` names those measured twice."""
    base = drawn(random, kind, nodes, metrics) * offsets
    if kind == "two groups":
        base[: nodes // 2] -= 0.1
    for node, share in (slow or {}).items():
        base[node] += math.log1p(-share)
    found = []
    for at in range(nodes):
        runs = []
        for number in range(2 if at in again else 1):
            draws = random if number == 0 else np.random.default_rng([at, nodes, metrics])
            noise = drawn(draws, kind, metrics, PROCESSES) * NOISE
            values = 1000 * np.exp(base[at][:, None] + noise)
            readings = {
                name: Reading(values=tuple(map(float, row)), unit="/s")
                for name, row in zip(METRICS, values, strict=False)
            }
            runs.append(NodeRun(run=f"{at}-{number}", readings=readings))
        found.append(Node(name=f"n{at}", runs=tuple(runs)))
    return Fleet.of(found)


ALARMS = {"F301", "F302", "F303", "F304"}


def alarm(random, kind, nodes, metrics):
    """Whether a healthy fleet has a node reported as needing a look."""
    found = diagnose(fleet_of(random, kind, nodes, metrics))
    return any(one.code in ALARMS for one in found.findings)


def accused(random, kind, nodes, metrics):
    """Whether a node in a fleet of two groups is called slow, and whether the groups are found."""
    found = diagnose(fleet_of(random, kind, nodes, metrics))
    codes = {one.code for one in found.findings}
    return bool(codes & ALARMS), "F403" in codes


def caught(random, nodes, metrics):
    """Whether a node that is 5 % slow is suspected, and called slow after a second measurement."""
    given = {"offsets": 0.0, "slow": {0: 0.05}}
    state = random.bit_generator.state
    once = diagnose(fleet_of(random, "normal", nodes, metrics, **given))
    if "n0" not in once.named("suspect"):
        return False
    random.bit_generator.state = state
    twice = diagnose(fleet_of(random, "normal", nodes, metrics, **given, again={0}))
    return twice.named("slow") == ["n0"]


def table(trials, seed):
    """The table of the docs, in Markdown."""
    print(f"mbench {mbench.__version__}, seed {seed}; a cell has its number of fleets and a "
          "standard error\n")  # fmt: skip
    print("| nodes | metrics | alarms, normal | alarms, heavy tails | accused, two groups | "
          "groups seen | 5 % slow found |\n|---|---|---|---|---|---|---|")  # fmt: skip
    for nodes, metrics in ((8, 1), (8, 10), (8, 50), (16, 1), (32, 1), (32, 10), (32, 50), (100, 1),
                           (100, 50), (300, 1), (1000, 1), (1000, 10), (1000, 50)):  # fmt: skip
        random = np.random.default_rng([seed, nodes, metrics])
        count = max(40, min(trials, 600_000 // (nodes * metrics)))
        normal = [alarm(random, "normal", nodes, metrics) for _ in range(count)]
        heavy = [alarm(random, "heavy", nodes, metrics) for _ in range(count)]
        groups = [accused(random, "two groups", nodes, metrics) for _ in range(count)]
        found = [caught(random, nodes, metrics) for _ in range(count)]
        columns = (normal, heavy, [a for a, _ in groups], [s for _, s in groups], found)
        cells = " | ".join(map(share_of, columns))
        print(f"| {nodes:,} | {metrics} | {cells} |", flush=True)


def share_of(found):
    share = sum(found) / len(found)
    error = math.sqrt(max(share * (1 - share), 0.5 / len(found)) / len(found))
    return f"{100 * share:.1f} ± {100 * error:.1f} % of {len(found)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--values", action="store_true", help="make the critical values")
    parser.add_argument("--trials", type=int, default=400, help="fleets of each kind")
    parser.add_argument("--seed", type=int, default=20261128)
    chosen = parser.parse_args()
    if chosen.values:
        sys.stdout.write(values_file(chosen.seed))
    else:
        table(chosen.trials, chosen.seed)


if __name__ == "__main__":
    main()
