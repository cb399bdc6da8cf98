"""Metrics: values of steps that were timed, and which direction is better."""

from __future__ import annotations

import pytest

from mbench.contract.metric import (
    HIGHER,
    JOULES_PER_SAMPLE,
    LATENCIES,
    LATENCY_MEAN,
    THROUGHPUT,
    CaseFacts,
    Metric,
    Timed,
    merged,
)

FACTS = CaseFacts(samples="images", samples_per_step=8, devices=1, flops_per_sample=1e6)
BLOCK = Timed(steps=10, nanoseconds=[2 * 10**9], joules=160.0)
SINGLE = Timed(steps=10, nanoseconds=[10**6 * (1 + at) for at in range(10)], each=True)


def test_values_of_the_first_metrics():
    assert THROUGHPUT.of(BLOCK, FACTS) == 40
    assert THROUGHPUT.unit_of(FACTS) == "images/s"
    assert JOULES_PER_SAMPLE.of(BLOCK, FACTS) == 2
    assert LATENCY_MEAN.of(SINGLE, FACTS) == 5.5
    p50, p90, p95 = LATENCIES[1:4]
    assert (p50.name, p50.of(SINGLE, FACTS)) == ("latency_p50", 5)
    assert p90.of(SINGLE, FACTS) == 9
    assert p95.of(SINGLE, FACTS) is None, "too few steps"


@pytest.mark.parametrize("joules", [None, 0.0])
def test_energy_that_was_not_metered(joules):
    assert JOULES_PER_SAMPLE.of(Timed(steps=1, nanoseconds=[1], joules=joules), FACTS) is None


def test_a_ratio_is_above_1_where_the_value_is_better():
    assert THROUGHPUT.better == HIGHER
    assert THROUGHPUT.ratio(40, 20) == 2
    assert LATENCY_MEAN.ratio(40, 20) == 0.5


def test_rounds_together():
    marked = Timed(steps=2, nanoseconds=[5, 6], each=True, marks={"first": [1, 2]})
    both = merged([marked, marked])
    assert both.steps == 4
    assert both.nanoseconds == [5, 6, 5, 6]
    assert both.marks == {"first": [1, 2, 1, 2]}
    assert both.joules is None
    assert merged([BLOCK, BLOCK]).joules == 320


def test_a_direction_that_is_none():
    with pytest.raises(ValueError, match="neither higher nor lower"):
        Metric(name="odd", title="odd", unit="", of=lambda timed, facts: None, better="more")
