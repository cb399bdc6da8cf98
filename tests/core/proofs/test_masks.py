"""How much dropout drops, judged by which units moved."""

from __future__ import annotations

from random import Random

import pytest

from mbench.contract.wire import StepEvidence
from mbench.proofs.changes import judge_masks


def draws(share, *, units=4000, dead=0.0, seed=0):
    """Evidence of two steps with dropout `share`; a share `dead` of the units moves in neither."""
    draw = Random(seed)
    alive = [draw.random() >= dead for _ in range(units)]
    return [
        StepEvidence(
            loss=1.0,
            outputs={},
            parameters={},
            moved={"fc": "".join("01"[one and draw.random() >= share] for one in alive)},
        )
        for _ in range(2)
    ]


@pytest.mark.parametrize("rate", [0.1, 0.2, 0.5, 0.7])
@pytest.mark.parametrize("dead", [0.0, 0.6])
def test_the_right_rate_passes(rate, dead):
    for seed in range(20):
        (finding,) = judge_masks(*draws(rate, dead=dead, seed=seed), {"fc": rate})
        assert finding.passed, finding


@pytest.mark.parametrize(("share", "rate"), [(0.0, 0.1), (0.2, 0.1), (0.5, 0.1), (0.3, 0.5)])
@pytest.mark.parametrize("dead", [0.0, 0.6])
def test_another_rate_is_told(share, rate, dead):
    (finding,) = judge_masks(*draws(share, dead=dead), {"fc": rate})
    assert not finding.passed
    assert f"instead of {rate:g}" in str(finding)


def test_masks_that_are_kept_are_told():
    one, _ = draws(0.5)
    (finding,) = judge_masks(one, one, {"fc": 0.5})
    assert str(finding).startswith("masks: 0 dropped before or after fc")


def test_rates_are_counted_apart():
    steps = draws(0.2)
    for step, other in zip(steps, draws(0.7, seed=1), strict=True):
        step.moved["aux"] = other.moved["fc"]
    findings = list(judge_masks(*steps, {"fc": 0.2, "aux": 0.7}))
    assert [finding.passed for finding in findings] == [True, True]
    assert not all(finding.passed for finding in judge_masks(*steps, {"fc": 0.2, "aux": 0.2}))


def test_nothing_left_is_told():
    one, other = draws(1.0)
    (finding,) = judge_masks(one, other, {"fc": 0.5})
    assert str(finding) == "masks: all of fc is dropped"
