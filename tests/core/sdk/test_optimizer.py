"""Which tensors decay, how a rule is found, and the documented clipping."""

from __future__ import annotations

import dataclasses

import pytest
from mbench_tiny import TINY

from mbench.contract.workload import Tensor
from mbench.sdk.optimizer import clip_factor, decays, find_rule, groups


def test_weight_decay_spares_what_the_workload_spares():
    assert decays(TINY, ["weight", "bias"]) == {"weight": 1e-2, "bias": 0.0}
    assert groups(TINY, {"bias": 1, "weight": 2}) == [(1e-2, [2]), (0.0, [1])]
    assert groups(TINY, {"bias": 1}) == [(0.0, [1])]


def test_without_weight_decay_the_groups_stay_apart():
    optimizer = dataclasses.replace(TINY.optimizer, weight_decay=0.0)
    workload = dataclasses.replace(TINY, optimizer=optimizer)
    assert groups(workload, {"bias": 1, "weight": 2}) == [(0.0, [2]), (0.0, [1])]


def test_an_unknown_rule_is_refused_with_those_that_there_are():
    assert find_rule(TINY, {"sgd": 7}) == 7
    with pytest.raises(ValueError, match="there is no optimizer 'sgd'; available: adam, lamb"):
        find_rule(TINY, {"adam": 1, "lamb": 2})


def test_clipping_is_the_documented_one():
    assert clip_factor(1.0, 4.0) == pytest.approx(1.0 / (4.0 + 1e-6), rel=1e-15)


def test_a_task_may_spare_all_vectors(monkeypatch):
    tensors = [Tensor("weight", (2, 3), 0.1), Tensor("bias", (2,), 0.1)]
    monkeypatch.setattr(type(TINY), "tensors", lambda _: tensors)
    optimizer = dataclasses.replace(TINY.optimizer, decays_vectors=False)
    assert decays(TINY, ["weight", "bias"]) == {"weight": 1e-2, "bias": 1e-2}
    spared = dataclasses.replace(TINY, optimizer=optimizer)
    assert decays(spared, ["weight", "bias"]) == {"weight": 1e-2, "bias": 0.0}
    assert groups(spared, {"bias": 1, "weight": 2}) == [(1e-2, [2]), (0.0, [1])]
