"""What is measured first, and what a budget refuses before anything is measured."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from support.experiments import asked

from mbench.errors import UsageError
from mbench.explain import price, ranking
from mbench.explain.plan import EMPTY, check_budget, check_protocol, plan_breakdown
from mbench.explain.price import Price, weight_of
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


def fine_by_rank(plan, monkeypatch, *, stages):
    monkeypatch.setattr(ranking, "stages_that_differ", lambda run: stages)
    coarse = {one.number for one in plan.coarse}
    empty, *fine = [part for part in plan.parts if part.comparison.number not in coarse]
    ranked = ranking.ranked_parts(plan.whole, fine, SimpleNamespace())
    assert empty.comparison.entries[0].case.model == EMPTY
    return [one.entries[0].case.model for one in ranked]


def test_operators_of_the_stages_with_the_difference_come_first(planned, monkeypatch):
    """Of these, as of the others, those with the most to compute and to move come first. The check
    that such a stage is additive precedes its operators; checks of other stages come last.
    """
    made = planned("resnet18", batch_size=(1,), mode=("inference",))
    usual = fine_by_rank(made, monkeypatch, stages=set())
    assert usual[0] == "op:conv2d/1x64x56x56-o64-k3-p1"
    assert all("+" in name for name in usual[-4:])
    check, *found = fine_by_rank(made, monkeypatch, stages={"layer3"})
    assert check == "resnet18+layer3.1of2"
    assert found[0] == "op:conv2d/1x256x14x14-o256-k3-p1"
    assert all("256x14x14" in name or "256x196" in name for name in found[:3])
    assert sorted(["resnet18+layer3.1of2", *found]) == sorted(usual)


def test_the_step_its_phases_and_its_stages_come_first(planned):
    made = planned("tiny-deep", mode=("train",))
    titles = [one.title.rpartition(", ")[2] for one in made.coarse[1:]]
    assert titles == ["up to forward", "up to backward", "front twice", "back twice"]


def test_a_longer_model_is_expected_to_take_longer(planned):
    made = planned("resnet18", mode=("inference",))
    first, *others = made.coarse
    assert weight_of(first, first) == 1.0
    assert all(1.2 < weight_of(one, first) < 1.4 for one in others)


def test_a_budget_without_room_for_three_sets_is_refused_with_one_that_has(planned):
    made = planned("tiny-deep", mode=("train",))
    protocol = PRESETS["explain"]
    check_budget(made, protocol)
    with pytest.raises(UsageError, match="is too short for 3 sets of the step and 4 phases"):
        check_budget(made, replace(protocol, budget_seconds=15.0))
    with pytest.raises(UsageError, match="give --budget 90"):
        check_budget(made, replace(protocol, budget_seconds=15.0))


def test_two_sets_are_refused():
    with pytest.raises(UsageError, match="explain needs 3 sets of processes for an interval"):
        check_protocol(Adaptive(processes=2))


@pytest.fixture
def priced(planned, monkeypatch):
    """Returns what is foretold for a model if the proofs of the models `known` are remembered."""

    def priced(model, *, known, earlier=None):
        made = planned(model, mode=("inference",))
        monkeypatch.setattr(price, "remembered", lambda entry, _: entry.case.model in known)
        bench = SimpleNamespace(
            protocol=PRESETS["explain"], earlier=earlier, verify=True,
            environments=SimpleNamespace(environment_for=lambda entry: None),
        )  # fmt: skip
        coarse = list(made.coarse)
        return Price(bench).foretold(coarse, [one for one in made.comparisons if one not in coarse])

    return priced


def test_proofs_sets_and_their_price_are_foretold(priced):
    said = priced("tiny-deep", known=())
    assert said.startswith("plan: first 6 proofs, about ")
    assert "then the step and 2 parts of it (phases and stages) in 3 to 8 sets of " in said
    assert " s each; then, in what is left of the budget of 30 min, up to 6 par" in said
    assert "first 4 proofs" in priced("tiny-deep", known=("tiny-deep",))
    all_ = ("tiny-deep", "tiny-deep+front", "tiny-deep+back")
    assert priced("tiny-deep", known=all_).startswith("plan: the step and 2 parts")
