"""What is measured first, and what a budget refuses before anything is measured."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from support.experiments import asked

from mbench.errors import UsageError
from mbench.explain import ranking
from mbench.explain.measure import weight_of
from mbench.explain.plan import EMPTY, check_budget, check_protocol, plan_breakdown
from mbench.spec.adaptive import Adaptive
from mbench.spec.planning import plan
from mbench.spec.presets import PRESETS


@pytest.fixture
def planned(plugins):
    def planned(model, **wanted):
        wanted = {"model": (model,), **wanted}
        (whole,) = plan(asked(frameworks=("tiny", "flaky"), wanted=wanted), plugins)
        return plan_breakdown(whole)

    return planned


def operators_by_rank(plan, monkeypatch, *, stages):
    monkeypatch.setattr(ranking, "stages_that_differ", lambda run: stages)
    counts = {part.comparison.number: part.count for part in plan.parts}
    named = {one.number: one.entries[0].case.model for one in plan.comparisons}
    operators = [one for one in plan.comparisons if named[one.number].startswith("op:")]
    ranked = ranking.ranked_operators(plan.whole, operators[1:], counts, SimpleNamespace())
    assert named[operators[0].number] == EMPTY
    return [named[one.number] for one in ranked]


def test_operators_of_the_stages_with_the_difference_come_first(planned, monkeypatch):
    """Among them, and among all others, those that have most to compute and to move."""
    made = planned("resnet18", batch_size=(1,), mode=("inference",))
    usual = operators_by_rank(made, monkeypatch, stages=set())
    assert usual[0] == "op:conv2d/1x64x56x56-o64-k3-p1"
    found = operators_by_rank(made, monkeypatch, stages={"layer3"})
    assert found[0] == "op:conv2d/1x256x14x14-o256-k3-p1"
    assert all("256x14x14" in name or "256x196" in name for name in found[:3])
    assert sorted(found) == sorted(usual)


def test_the_step_its_phases_and_its_stages_come_first(planned):
    made = planned("tiny-deep", mode=("train",))
    titles = [one.title.rpartition(", ")[2] for one in made.coarse[1:]]
    assert titles == ["up to forward", "up to backward", "front twice", "back twice",
                      "front longer by a half", "back longer by a third"]  # fmt: skip


def test_a_longer_model_is_expected_to_take_longer(planned):
    made = planned("resnet18", mode=("inference",))
    first, *others = made.coarse
    assert weight_of(first, first) == 1.0
    assert all(1.2 < weight_of(one, first) < 1.4 for one in others)


def test_a_budget_without_room_for_three_sets_is_refused_with_one_that_has(planned):
    made = planned("tiny-deep", mode=("train",))
    protocol = PRESETS["explain"]
    check_budget(made, protocol)
    with pytest.raises(UsageError, match="does not hold 3 sets of the step and 6 phases and"):
        check_budget(made, replace(protocol, budget_seconds=30.0))
    with pytest.raises(UsageError, match="give --budget 150"):
        check_budget(made, replace(protocol, budget_seconds=30.0))


def test_two_sets_are_refused():
    with pytest.raises(UsageError, match="explain needs 3 sets of processes for an interval"):
        check_protocol(Adaptive(processes=2))
