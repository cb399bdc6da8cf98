"""Intervals, ratios and percentiles against independent computations and by simulation."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
import scipy.stats

from mbench.stats import (
    Interval,
    contrast,
    geometric_interval,
    noise_floor,
    pair_ratios,
    percentile,
    ratio,
    trend,
    verdict,
)


@pytest.mark.parametrize("count", [2, 3, 5, 10, 30])
def test_the_interval_is_students_on_logarithms(count):
    values = np.random.default_rng(count).lognormal(3, 0.2, count)
    logs = np.log(values)
    low, high = scipy.stats.t.interval(
        0.95, count - 1, loc=logs.mean(), scale=scipy.stats.sem(logs)
    )
    made = geometric_interval(list(values))
    assert made.value == pytest.approx(scipy.stats.gmean(values))
    assert made.low == pytest.approx(math.exp(low))
    assert made.high == pytest.approx(math.exp(high))
    assert made.replicates == count


def test_one_value_gives_no_interval():
    assert geometric_interval([7.0]) == Interval(pytest.approx(7.0), None, None, 1)
    assert geometric_interval([7.0]).half_width is None


def test_equal_values_give_an_interval_of_no_width():
    made = geometric_interval([4.0, 4.0, 4.0])
    assert made.low == made.high == pytest.approx(4.0)
    assert made.half_width == 0


def test_half_width_is_relative():
    assert Interval(200.0, 190.0, 214.0, 3).half_width == pytest.approx(0.06)


def pair(chance, *, true, processes=5, rounds=4, offset=0.025, noise=0.01):
    """Throughputs of two frameworks whose processes carry offsets of their own."""

    def one(rate):
        return {
            process: {
                at: rate * math.exp(own + chance.gauss(0, noise)) for at in range(rounds)
            }
            for process, own in ((p, chance.gauss(0, offset)) for p in range(processes))
        }  # fmt: skip

    return one(100.0), one(100.0 * true)


@pytest.mark.parametrize(
    ("processes", "offset", "noise"), [(5, 0.025, 0.01), (3, 0.025, 0.01), (8, 0.005, 0.03)]
)
def test_intervals_cover_the_truth_as_often_as_they_say(processes, offset, noise):
    chance, true, trials = random.Random(0), 1.03, 3000
    covered = 0
    for _ in range(trials):
        made = ratio(*pair(chance, true=true, processes=processes, offset=offset, noise=noise))
        covered += made.low <= true <= made.high
    assert 0.93 <= covered / trials <= 0.97


def test_a_framework_against_itself_wins_at_the_nominal_rate_only():
    chance, trials = random.Random(1), 3000
    verdicts = [verdict(ratio(*pair(chance, true=1.0))) for _ in range(trials)]
    assert 0.03 <= 1 - verdicts.count("no difference shown") / trials <= 0.07
    assert abs(verdicts.count("faster") - verdicts.count("slower")) < 60


def test_a_real_difference_is_found():
    chance = random.Random(2)
    verdicts = [verdict(ratio(*pair(chance, true=1.2))) for _ in range(200)]
    assert verdicts.count("faster") > 190


def test_the_ratio_is_of_the_other_to_the_baseline():
    baseline, other = {0: {0: 10.0}, 1: {0: 20.0}}, {0: {0: 20.0}, 1: {0: 40.0}}
    assert ratio(baseline, other).value == pytest.approx(2.0)
    assert ratio(other, baseline).value == pytest.approx(0.5)


def test_only_rounds_that_both_have_make_pairs():
    baseline = {0: {0: 10.0, 1: 10.0, 2: 999.0}, 1: {0: 10.0}, 2: {0: 10.0}, 3: {0: 10.0}}
    other = {0: {0: 20.0, 1: 20.0, 3: 1.0}, 1: {1: 1.0}, 2: {0: 20.0}, 4: {0: 1.0}}
    made = ratio(baseline, other)
    assert made.value == pytest.approx(2.0)
    assert made.replicates == 2


@pytest.mark.parametrize(
    ("baseline", "other"), [({}, {}), ({0: {0: 1.0}}, {}), ({0: {0: 1.0}}, {0: {1: 1.0}})]
)
def test_no_shared_round_no_ratio(baseline, other):
    assert ratio(baseline, other) is None


def test_a_burst_in_one_round_does_not_move_a_pair():
    quiet = {0: dict.fromkeys(range(5), 10.0)}
    burst = {0: {**quiet[0], 3: 1.0}}
    assert ratio(quiet, burst).value == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (1.01, 1.10, "faster"),
        (0.90, 0.99, "slower"),
        (0.99, 1.01, "no difference shown"),
        (1.00, 1.10, "no difference shown"),
        (0.90, 1.00, "no difference shown"),
        (None, None, "undetermined"),
    ],
)
def test_verdicts(low, high, said):
    assert verdict(Interval(1.0, low, high, 5)) == said


@pytest.mark.parametrize(("rank", "fewest"), [(50, 2), (90, 10), (95, 20), (99, 100), (99.9, 1000)])
def test_percentiles_from_the_smallest_sample_that_supports_them(rank, fewest):
    assert percentile(range(1, fewest), rank) is None
    assert percentile(range(1, fewest + 1), rank) == fewest - 1
    assert percentile(range(fewest, 0, -1), rank) == fewest - 1
    assert percentile(range(1, 10 * fewest + 1), rank) == 10 * (fewest - 1)


@pytest.mark.parametrize("count", [20, 37, 100, 101, 999, 1000, 1003, 4096])
def test_percentiles_are_nearest_rank(count):
    values = list(np.random.default_rng(count).permutation(count))
    for rank in (50, 90, 95):
        expected = np.percentile(values, rank, method="inverted_cdf")
        assert percentile(values, rank) == expected


def test_no_values_no_percentile():
    assert percentile([], 50) is None


def test_a_pair_is_the_median_of_its_common_rounds():
    base = {0: {0: 1.0, 1: 1.0, 2: 1.0}, 1: {0: 2.0}, 2: {0: 1.0}}
    other = {0: {0: 2.0, 1: 3.0, 2: 40.0}, 1: {1: 5.0}, 2: {0: 4.0}}
    assert pair_ratios(base, other) == pytest.approx([3.0, 4.0])


def test_a_contrast_is_welchs_interval_of_logarithms():
    """Worked by hand: means 0 and log 2, variances of the means 0.01 / 3 and 0.04 / 3."""
    base = [math.exp(x) for x in (-0.1, 0.0, 0.1)]
    new = [2 * math.exp(x) for x in (-0.2, 0.0, 0.2)]
    found = contrast(base, new)
    assert found.value == pytest.approx(2)
    error = math.sqrt(0.05 / 3)
    freedom = (0.05 / 3) ** 2 / ((0.01 / 3) ** 2 / 2 + (0.04 / 3) ** 2 / 2)
    assert freedom == pytest.approx(2.941, abs=1e-3)
    reach = math.log(found.high / 2)
    assert reach == pytest.approx(3.2188 * error, rel=1e-3), "the quantile between those of 2 and 3"
    assert found.low * found.high == pytest.approx(4)


def test_many_contrasts_hold_together():
    alone, together = (contrast([1, 1.1, 1.2], [2, 2.1, 2.2], comparisons=n) for n in (1, 20))
    assert together.value == alone.value
    assert together.low < alone.low < alone.high < together.high


def test_a_contrast_of_one_process_has_no_interval():
    assert contrast([1.0], [2.0, 2.1, 2.2]) == Interval(pytest.approx(2.1, rel=0.01), None, None, 1)


def test_a_contrast_without_scatter_is_exact():
    assert contrast([1.0, 1.0], [2.0, 2.0]) == Interval(2, 2, 2, 2)


def test_contrasts_cover_what_is_true():
    """Of 400 pairs of samples with one truth, the intervals of about 95 % hold it."""
    draw = random.Random(7)
    held = 0
    for _ in range(400):
        base = [math.exp(draw.gauss(0, 0.05)) for _ in range(5)]
        new = [1.5 * math.exp(draw.gauss(0, 0.02)) for _ in range(5)]
        found = contrast(base, new)
        held += found.low <= 1.5 <= found.high
    assert 0.92 < held / 400 < 0.98


def test_a_trend_is_found_across_processes():
    """Each gets 4 % faster over its rounds, in noise of 1 % and with an offset of its own."""
    chance = random.Random(0)
    series = [
        [100 * offset * (1 + 0.04 * at / 7) * chance.lognormvariate(0, 0.01) for at in range(8)]
        for offset in (0.9, 1.0, 1.1, 1.2, 0.8)
    ]
    change, score = trend(series)
    assert change == pytest.approx(0.04, abs=0.012)
    assert score > 3
    change, score = trend([list(reversed(values)) for values in series])
    assert change == pytest.approx(-0.04, abs=0.012)
    assert score < -3


def test_noise_is_rarely_taken_for_a_trend():
    chance = random.Random(0)
    scores = [
        trend([[chance.lognormvariate(0, 0.05) for _ in range(6)] for _ in range(5)])[1]
        for _ in range(2000)
    ]
    assert sum(score > 3 for score in scores) <= 8
    assert np.std(scores) == pytest.approx(1, abs=0.08)


def test_the_score_is_kendalls():
    values = np.random.default_rng(3).permutation(20) + 1.0
    count = len(values)
    tau = scipy.stats.kendalltau(range(count), values).statistic
    spread = math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
    assert trend([values])[1] == pytest.approx(tau * count * (count - 1) / 2 / spread)


@pytest.mark.parametrize("series", [[], [[]], [[1.0]], [[1.0], [2.0]]])
def test_single_rounds_have_no_trend(series):
    assert trend(series) == (0.0, 0.0)


def test_the_noise_floor_is_students_interval_about_one():
    """Of a normal sample with a known mean: t with as many degrees of freedom as values."""
    logs = [0.01, -0.02, 0.015, 0.0]
    scatter = math.sqrt(sum(log**2 for log in logs) / 4)
    reach = scipy.stats.t.ppf(0.975, 4) * scatter / math.sqrt(5)
    found = noise_floor([math.exp(log) for log in logs], pairs=5)
    assert found == pytest.approx(math.exp(reach) - 1)
    assert noise_floor([1.0, 1.0], pairs=5) == 0


def test_noise_stays_below_its_floor_at_the_nominal_rate():
    draw = random.Random(7)

    def pairs(count):
        return [math.exp(draw.gauss(0, 0.02)) for _ in range(count)]

    def exceeds():
        others = pairs(5)
        center = math.exp(sum(map(math.log, others)) / 5)
        return max(center, 1 / center) - 1 > noise_floor(pairs(5), pairs=5)

    hits = sum(exceeds() for _ in range(4000))
    assert 0.04 < hits / 4000 < 0.06
