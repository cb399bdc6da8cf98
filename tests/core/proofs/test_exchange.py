"""Findings on ranks that exchange gradients, that do not, or that do so wrongly."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from mbench.contract import generator
from mbench.contract.sketch import sketch
from mbench.contract.wire import Observation, StepEvidence
from mbench.contract.workload import Optimizer
from mbench.proofs.exchange import (
    MOST_PARTS,
    judge_clipped,
    judge_mean,
    judge_same_changes,
    rank_batches,
)
from mbench.proofs.tolerances import EXACT

RATE = 1e-3


@pytest.fixture
def made(workload):
    """Functions for a part's gradient, the observation of changes, and the changes by a mean."""

    def gradient(part):
        return {
            t.name: generator.uniform(f"{part}/{t.name}", t.shape).astype(np.float64)
            for t in workload.tensors()
        }

    def seen(changes, loss):
        return Observation(
            trainable_parameters=0, counted_flops=None, shapes={},
            steps=[StepEvidence(loss=loss, outputs={},
                                parameters={n: sketch(n, a) for n, a in changes.items()})],
        )  # fmt: skip

    def mean(weights, *, factor=1.0):
        found = {t.name: np.zeros(t.shape) for t in workload.tensors()}
        for part, weight in enumerate(weights):
            for name, array in gradient(part).items():
                found[name] += -RATE * factor * weight * array
        return found

    return gradient, seen, mean


def findings(workload, made, ranks, own):
    """Findings for each way to assign parts to ranks; `own(rank, way)` is what a rank changes."""
    _, seen, mean = made
    found = []
    for way in rank_batches(ranks):
        parts = range(way.parts)
        single = [seen(mean([part == one for part in parts]), 2.0 + one) for one in parts]
        all_of = [seen(own(rank, way), 2.0 + way.part(rank)) for rank in range(ranks)]
        found.append(judge_same_changes(all_of, workload, gate=EXACT))
        found += judge_mean(all_of, single, workload, way=way, gate=EXACT)
    return found


@pytest.mark.parametrize("ranks", [2, 3, 16, 17, 40])
def test_the_mean_of_all_is_told_from_that_of_some(workload, made, ranks):
    _, _, mean = made
    honest = findings(workload, made, ranks, lambda rank, way: mean(way.weights()))
    assert all(finding.passed for finding in honest)

    def of_half(_, way):
        members = [way.part(rank) for rank in range(max(1, ranks // 2))]
        return mean(np.bincount(members, minlength=way.parts) / len(members))

    failed = [finding for finding in findings(workload, made, ranks, of_half) if not finding.passed]
    assert failed
    assert failed[0].error > 1e-3


def test_more_ranks_than_parts_are_told_apart_in_two_ways():
    first, second = rank_batches(64)
    assert (first.parts, first.stride, second.stride) == (MOST_PARTS, 1, 4)
    node = range(16)  # whose members have all parts in the first way
    assert {first.part(rank) for rank in node} == set(range(16))
    assert {second.part(rank) for rank in node} == {0, 1, 2, 3}
    assert math.isclose(first.weights().sum(), 1)


def test_what_is_not_exchanged_is_said_to_be(workload, made):
    _, _, mean = made

    def alone(rank, way):
        return mean([part == way.part(rank) for part in range(way.parts)])

    together, losses, changed = findings(workload, made, 2, alone)
    assert not together.passed
    assert together.note == "ranks do not train the same model"
    assert losses.passed
    assert changed.note == "rank 0 changes by part 0 alone: nothing is exchanged"


def test_a_sum_is_no_mean(workload, made):
    _, _, mean = made
    *_, changed = findings(workload, made, 4, lambda _, way: mean(way.weights(), factor=4))
    assert not changed.passed
    assert changed.note == "4 times the mean: a sum, or a mean over other ranks"


def test_weights_that_are_not_alike(workload, made):
    *_, changed = findings(workload, made, 2, lambda *_: made[2]([0.4, 0.6]))
    assert not changed.passed
    assert "one with unequal weights" in changed.note


def test_ranks_that_all_have_one_batch(workload, made):
    _, seen, mean = made
    (way,) = rank_batches(2)
    single = [seen(mean([1, 0]), 2.0), seen(mean([0, 1]), 3.0)]
    own = [seen(mean([1, 0]), 2.0)] * 2
    losses, changed = judge_mean(own, single, workload, way=way, gate=EXACT)
    assert not losses.passed
    assert losses.where == "loss of rank 1"
    assert not changed.passed


def test_gradients_are_clipped_once_they_are_exchanged(workload, made):
    gradient, seen, mean = made
    clipping = replace(workload, optimizer=Optimizer(rule="sgd", learning_rate=RATE, clip_norm=0.5))
    trained = [t.name for t in workload.tensors() if t.trainable]

    def norm(found):
        return math.sqrt(sum(float(np.sum(found[name] ** 2)) for name in trained))

    whole = norm(mean([0.5, 0.5])) / RATE
    assert whole > 0.5
    bare = [seen(mean([0.5, 0.5]), 2.0)]
    after = [seen(mean([0.5, 0.5], factor=0.5 / (whole + 1e-6)), 2.0)]
    found = judge_clipped(after, bare, clipping, rate=RATE, gate=EXACT)
    assert found.passed
    factors = [0.5 / (norm(gradient(part)) + 1e-6) for part in range(2)]
    before = [seen(mean([0.5 * factor for factor in factors]), 2.0)]
    found = judge_clipped(before, bare, clipping, rate=RATE, gate=EXACT)
    assert not found.passed
    assert "clipped before the exchange" in found.note
