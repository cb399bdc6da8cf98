"""How long the parts of a breakdown are expected to take."""

from __future__ import annotations

import pytest

from mbench.explain.measure import seconds_of_parts
from mbench.spec.adaptive import Adaptive


def test_parts_of_a_step_share_one_budget():
    found = seconds_of_parts(Adaptive(budget_seconds=1500.0, processes=3), 60)
    assert len(found) == 180
    assert sum(found) == pytest.approx(1500.0)
