"""Verdicts, each on its own and all of a run together."""

from __future__ import annotations

import math
import random
from itertools import combinations

import pytest
from laws import normal

from mbench.stats import Interval, Pair, Ratio, together, verdict, verdicts


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (1.01, 1.10, "faster"),
        (1.001, 1.01, "faster"),
        (0.90, 0.99, "slower"),
        (0.96, 1.01, "no difference shown"),
        (1.00, 1.10, "no difference shown"),
        (0.90, 1.00, "no difference shown"),
        (0.98, 1.03, "alike"),
        (1 / 1.03, 1.03, "alike"),
        (0.97, 1.02, "no difference shown"),
        (None, None, "undetermined"),
    ],
)
def test_what_an_interval_shows(low, high, said):
    assert verdict(Interval(1.0, low, high, 5)) == said


def of(values, *, middle=None):
    return Ratio([Pair(value, middle or value, 0.0, 1) for value in values])


def drawn(chance, true, *, count=5):
    return of([true * math.exp(normal(chance)) for _ in range(count)])


def test_the_verdict_is_that_of_the_printed_interval_or_undetermined():
    chance = random.Random(0)
    for _ in range(300):
        ratios = [drawn(chance, chance.choice((1.0, 1.03, 1.1)), count=4) for _ in range(6)]
        for made, said in zip(ratios, verdicts(ratios), strict=True):
            assert said in (verdict(made.interval()), "undetermined")


def test_two_pairs_give_no_verdict():
    assert verdicts([of([1.5, 1.5])]) == ["undetermined"]


def test_stalls_come_before_any_winner():
    assert verdicts([of([1.10, 1.11, 1.12], middle=1.3)]) == ["depends on stalls"]
    assert verdicts([of([1.10, 1.11, 1.12], middle=1.12)]) == ["faster"]


def test_alone_a_verdict_is_that_of_its_interval():
    borderline = of([1.015, 1.05, 1.03, 1.02])
    assert borderline.interval().leaves_out(1)
    assert verdicts([borderline]) == ["faster"]
    same = [of([0.93, 1.08, 1.01, 0.97])] * 5
    assert verdicts([borderline, *same])[0] == "undetermined"


def test_holms_steps_by_hand():
    """At 5 % among three: 1.7 %, then 2.5 %, then 5 %; ratios without an interval do not count."""

    def t(value):  # five pairs with this t statistic
        logs = [x + value / math.sqrt(5) * math.sqrt(2.5) for x in (-2, -1, 0, 1, 2)]
        return of([math.exp(0.01 * x) for x in logs])

    # Two-sided quantiles of t with 4 degrees: 2.776 at 5 %, 3.495 at 2.5 %, 3.961 at 1.67 %.
    assert together([t(4.0), t(3.5), t(2.8)]) == {0, 1, 2}
    assert together([t(3.9), t(3.9), t(2.8)]) == set()
    assert together([t(4.0), t(3.4), t(3.4)]) == {0}
    assert together([t(-4.0), t(3.5), of([2.0, 2.0])]) == {0, 1}
    assert together([]) == set()


def test_no_verdict_of_a_run_is_false_in_nineteen_of_twenty_runs():
    """All pairs of four equal frameworks, over five sets; pairs share the frameworks' errors."""
    chance, trials, alone, among = random.Random(0), 600, 0, 0
    for _ in range(trials):
        speeds = [[normal(chance) / math.sqrt(2) for _ in range(5)] for _ in range(4)]
        ratios = [
            of([math.exp(new - base) for base, new in zip(*pair, strict=True)])
            for pair in combinations(speeds, 2)
        ]
        alone += any(verdict(made.interval()) in ("faster", "slower") for made in ratios)
        among += any(said in ("faster", "slower") for said in verdicts(ratios))
    assert among / trials <= 0.065
    assert alone / trials > 0.12


def test_what_differs_is_found_among_others():
    chance = random.Random(1)
    found = [verdicts([drawn(chance, 1.2), drawn(chance, 1.0), drawn(chance, 0.8)])
             for _ in range(100)]  # fmt: skip
    assert sum(said[0] == "faster" and said[2] == "slower" for said in found) > 90
    assert sum(said[1] in ("faster", "slower") for said in found) <= 10


def test_alike_is_wrong_once_in_twenty_at_most():
    """The true difference is just over 3 %."""
    chance = random.Random(2)
    said = [verdict(drawn(chance, 1.031, count=25).interval()) for _ in range(800)]
    assert said.count("alike") / len(said) < 0.05
    same = [verdict(drawn(chance, 1.0, count=25).interval()) for _ in range(100)]
    assert same.count("alike") > 85


@pytest.mark.parametrize("seed", range(5))
def test_what_holds_together_is_what_holms_procedure_leaves(seed):
    """Step by step, as defined: each takes what is shown at the level for as many as are left."""
    chance = random.Random(seed)
    ratios = [drawn(chance, chance.choice((1.0, 1.03, 1.06, 1.2))) for _ in range(25)]
    left, shown = set(range(25)), set()
    while found := {at for at in left
                    if ratios[at].interval(1 - 0.05 / len(left)).leaves_out(1)}:  # fmt: skip
        shown |= found
        left -= found
    assert together(ratios) == shown
