"""How far rounding carries a case follows from its nudges, and widens gates."""

from __future__ import annotations

import pytest
from cases import make_case
from evidenced import make_record

from mbench.measure.facts import gates
from mbench.results.evidence import Rounding
from mbench.results.rounding import Limits, rounding_after

FAR = {"answers": 1e-6, "norm": 1e-3, "direction": 0.01}


def case(*nudges, precision="fp32"):
    record = make_record(label="tiny", gates=gates(make_case(precision=precision)))
    record.nudges = [Rounding(**{**FAR, **one}) for one in nudges]
    return record


def test_the_root_mean_square_of_all_nudges_counts():
    """One of three that carries it hardly any way, as seen for ShuffleNet."""
    found = rounding_after(case({"direction": 0.003}, {"direction": 0.035}, {}), 16)
    assert found.direction == pytest.approx(((0.003**2 + 0.035**2 + 0.01**2) / 3) ** 0.5)
    assert rounding_after(case(), 16) is None


def test_two_changes_that_happen_to_be_equally_long_still_lie_apart():
    assert rounding_after(case({"norm": 0.0}), 16).norm == pytest.approx(0.05 * 0.01)


def test_later_steps_lie_as_far_apart_as_was_measured_after_them():
    seen = case({}, {"step": 32, "direction": 0.02}, {"step": 64, "direction": 0.05})
    far = [rounding_after(seen, step).direction for step in (4, 16, 17, 32, 49, 64)]
    assert far == pytest.approx([0.01, 0.01, 0.02, 0.02, 0.05, 0.05])


def test_beyond_what_was_measured_they_grow_with_the_number_of_steps():
    found = rounding_after(case({"grid": 0.004}), 48)
    assert (found.direction, found.norm) == (pytest.approx(0.03), pytest.approx(3e-3))
    assert found.grid == pytest.approx(0.004 * 3**0.25)
    assert (found.answers, found.step) == (1e-6, 48)


def test_gates_are_those_of_the_lesser_rounding_after_as_many_steps():
    one, other = case({}), case({"direction": 0.03})
    assert Limits(one, other).rounds
    assert Limits(one, other).after(16).direction == pytest.approx(0.02)
    assert Limits(other, one).after(32).direction == pytest.approx(0.04)
    assert not Limits(one, case()).rounds
    assert Limits(one, case()).after(32).direction == one.planned.gates.direction


def test_rounding_to_the_precision_of_parameters_widens_the_gate_of_directions_alone():
    nudge = {"norm": 0.0, "direction": 1e-4, "grid": 0.015}
    found = Limits(case(nudge), case(nudge)).after(16)
    assert found.direction == pytest.approx(0.015)
    assert found.norm == case().planned.gates.norm
