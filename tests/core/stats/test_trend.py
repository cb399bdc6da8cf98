"""Trends over rounds, in noise that lasts for rounds."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest
import scipy.stats

from mbench.stats import slope, trend

NOISE = Path(__file__).parents[3] / "benchmarks/noise/two-cores.json"


def test_a_trend_is_found_across_processes():
    """Each process gets 4 % faster over its rounds, with noise of 1 % and an offset of its own."""
    chance = random.Random(0)
    series = [
        [100 * offset * (1 + 0.04 * at / 7) * chance.lognormvariate(0, 0.01) for at in range(8)]
        for offset in (0.9, 1.0, 1.1, 1.2, 0.8)
    ]
    change, probability = trend(series)
    assert change == pytest.approx(0.04, abs=0.012)
    assert probability < 0.01
    change, probability = trend([list(reversed(values)) for values in series])
    assert change == pytest.approx(-0.04, abs=0.012)
    assert probability > 0.99


@pytest.mark.parametrize("rounds", [8, 30])
def test_recorded_noise_is_taken_for_a_trend_no_more_often_than_stated(rounds):
    """The noise has an autocorrelation of 0.6 from step to step; two frameworks take turns."""
    steps = json.loads(NOISE.read_text())["microseconds"]
    chance, trials, told = random.Random(0), 800, 0
    for _ in range(trials):
        series = []
        for _ in range(5):
            at = chance.randrange(len(steps))
            blocks = [[steps[(at + 6 * r + i) % len(steps)] for i in range(3)]
                      for r in range(rounds)]  # fmt: skip
            series.append([1 / sum(block) for block in blocks])
        change, probability = trend(series)
        told += probability < 0.01 and change > 0.01
    assert told / trials <= 0.015


def test_the_chance_is_that_of_students_test_over_the_slopes():
    chance = random.Random(1)
    series = [[chance.lognormvariate(0, 0.1) for _ in range(6)] for _ in range(4)]
    changes = [5 * slope([math.log(value) for value in values]) for values in series]
    expected = scipy.stats.ttest_1samp(changes, 0, alternative="greater").pvalue
    assert trend(series)[1] == pytest.approx(expected)


def test_the_slope_is_theil_and_sens():
    values = [1.0, 2.5, 2.0, 9.0, 5.0, 4.0]
    expected = scipy.stats.theilslopes(values, range(6)).slope
    assert slope(values) == pytest.approx(expected)


@pytest.mark.parametrize("series", [[], [[]], [[1.0, 2.0, 3.0]] * 2, [[1.0, 2.0]] * 5])
def test_two_processes_or_two_rounds_have_no_trend(series):
    assert trend(series) == (0.0, 1.0)


@pytest.mark.parametrize(("values", "chance"), [([1.0, 2.0, 4.0], 0.0), ([4.0, 2.0, 1.0], 1.0),
                                                ([1.0, 1.0, 1.0], 1.0)])  # fmt: skip
def test_processes_without_scatter(values, chance):
    assert trend([values] * 3)[1] == chance
