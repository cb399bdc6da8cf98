"""What a run is expected to take, as its progress tells it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from mbench.explain.plan import Apart
from mbench.measure.execute import planned
from mbench.spec.adaptive import Adaptive

PARTS = [SimpleNamespace(number=number) for number in range(60)]


def bench(protocol):
    seconds = protocol.budget_seconds
    return SimpleNamespace(protocol=protocol, expected={part.number: seconds for part in PARTS})


def test_each_comparison_has_a_budget_of_its_own():
    assert planned(PARTS, bench(Adaptive(budget_seconds=10.0))) == [10.0] * 60


def test_parts_of_a_step_share_one_budget():
    found = planned(PARTS, bench(Apart(budget_seconds=1500.0, processes=3)))
    assert len(found) == 180
    assert sum(found) == pytest.approx(1500.0)


def test_what_is_not_known_stays_so():
    made = bench(Apart(processes=2))
    made.expected.clear()
    assert planned(PARTS, made) == [None] * 120
