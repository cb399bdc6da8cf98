"""How heavy tails are, and which metrics move together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from fleets import fleet_of, name_of

from mbench.fleet.diagnose import diagnose
from mbench.fleet.nodes import Fleet, Reading
from mbench.fleet.speed import correlation
from mbench.fleet.spread import HEAVIEST, critical, tail_of


def test_tails_are_estimated_where_many_nodes_show_them():
    random = np.random.default_rng(1)
    normal = [tail_of(random.standard_normal(1000)) for _ in range(50)]
    heavy = [tail_of(random.standard_t(3, 1000)) for _ in range(50)]
    assert np.median(normal) < 0.3
    assert np.median(heavy) == HEAVIEST
    assert np.mean(np.array(heavy) < 0.28) < 0.15, "the upper end of what they show counts"
    assert tail_of(random.standard_normal(100)) == HEAVIEST, "these are too few"
    assert tail_of(-np.ones(1000)) == HEAVIEST
    assert tail_of(np.zeros(0)) == HEAVIEST


def test_the_critical_value_follows_the_tails():
    given = {"nodes": 1000, "metrics": 1, "alarms": 0.05, "farthest": 3.2}
    values = [critical(**given, tail=tail).value for tail in (0.15, 0.2, 0.25, HEAVIEST)]
    assert values == sorted(values)
    assert values[-1] == pytest.approx(2.85 * 3.2, rel=0.01)
    assert values[0] > 3.9, "never below that of normal values"


def moving(groups, *, nodes=40, slow):
    """Nodes with two metrics in each group, which are equal except for a little noise; n3 is slow
    in the metrics with the numbers in `slow`.
    """
    random = np.random.default_rng(4)
    fleet = fleet_of(nodes, metrics=2 * groups, odd={3: {"runs": 2}})
    shared = random.standard_normal((nodes, groups))
    made = []
    for at, node in enumerate(fleet.nodes):
        runs = []
        for run in node.runs:
            readings = {}
            for number in range(2 * groups):
                level = 1000 * (1 + 0.01 * shared[at, number // 2])
                level *= 0.8 if node.name == "n3" and number in slow else 1
                noise = 0.001 * random.standard_normal(5)
                readings[name_of(number)] = Reading(
                    values=tuple(map(float, level * (1 + noise))), unit="/s"
                )
            runs.append(replace(run, readings=readings))
        made.append(replace(node, runs=tuple(runs)))
    return Fleet.of(made)


@pytest.mark.parametrize(
    ("slow", "findings"),
    [
        ({0, 1}, [{0, 1}]),
        ({0, 2}, [{0}, {2}]),
        ({0, 1, 2}, [{0, 1}, {2}]),
        ({0, 1, 6, 7}, [{0, 1}, {6, 7}]),
        (set(range(20)), [set(range(20))]),
    ],
)
def test_metrics_that_move_together_over_the_nodes_are_one_finding(slow, findings):
    found = diagnose(moving(10, slow=slow))
    assert found.named("slow") == ["n3"]
    cells = [{cell.case for cell in one.cells} - {"all metrics together"}
             for one in found.findings]  # fmt: skip
    expected = [{f"case {number}" for number in group} for group in findings]
    assert sorted(map(sorted, cells)) == sorted(map(sorted, expected))


def test_rank_correlation_is_spearmans():
    stats = pytest.importorskip("scipy.stats")
    random = np.random.default_rng(2)
    first = random.integers(0, 6, 30).astype(float)
    second = first + random.integers(0, 4, 30)
    expected = stats.spearmanr(first, second).statistic
    assert correlation(list(first), list(second)) == pytest.approx(expected)
    assert correlation([1.0] * 30, list(second)) == 0
