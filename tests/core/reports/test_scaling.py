"""What reports say of several devices."""

from __future__ import annotations

import dataclasses

import pytest
from cases import make_case

from mbench.reports.scaling import scaling_lines


def case(scale, rate, *, low=None, high=None, ranks=None, label="tiny"):
    made = make_case(scale=scale, batch_size=8)
    return {
        **dataclasses.asdict(made), "label": label, "devices": made.devices, "ranks": ranks,
        "global_batch_size": made.samples_per_step,
        "throughput": {"value": rate, "low": low, "high": high} if rate else None,
    }  # fmt: skip


def lines(*cases):
    return scaling_lines({"cases": list(cases)})


def test_one_device_is_not_spoken_of():
    assert lines(case("1x1", 100.0)) == []


def test_several_are_held_against_one_of_the_same_framework():
    ranks = {"spread": 0.002, "slowest": [0.5, 0.5]}
    (line,) = lines(
        case("1x1", 50.0, label="other"), case("1x1", 100.0, low=90.0, high=110.0),
        case("1x2", 160.0, low=150.0, high=171.0, ranks=ranks),
    )  # fmt: skip
    assert line.startswith("tiny, ")
    assert "on 1x2 devices: global batch 16; 1.6 times one device (1.42 .. 1.8), 80% of 2" in line
    assert line.endswith("the slowest rank takes 0.2% longer than the fastest")


def test_without_one_device_there_is_no_speed_up():
    ranks = {"spread": 0.08, "slowest": [0.1, 0.0, 0.9, 0.0]}
    (line,) = lines(case("2x2", 160.0, ranks=ranks))
    assert line.endswith(
        "on 2x2 devices: global batch 32; the slowest rank takes 8.0% longer than the fastest, "
        "rank 2 most often (90% of blocks)"
    )


@pytest.mark.parametrize("given", [case("1x2", None), {**case("1x2", None), "throughput": None}])
def test_what_was_not_measured_has_no_line(given):
    assert lines(case("1x1", 100.0), given) == []
