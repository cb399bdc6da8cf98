"""Findings on what training steps changed, and hints at the cause."""

from __future__ import annotations

import numpy as np
import pytest
from cases import make_case

from mbench.proofs.judge import (
    judge_trajectory,
)
from mbench.proofs.proof_case import proof_work
from mbench.proofs.reference import trajectory
from mbench.proofs.tolerances import EXACT
from mbench.scenarios.find import prepared, resolve, work_of

LAST = 2


@pytest.fixture
def judged(workload, reference, observed):
    """Compares changes with the reference's `own` trajectory."""

    def judged(changes):
        return judge_trajectory(observed(changes), reference.own, workload, check="optimizer")

    return judged


def test_equal_changes_pass(judged, changes):
    finding = judged(changes)
    assert finding.passed
    assert finding.error == 0


@pytest.mark.parametrize(("relative", "passed"), [(1e-12, True), (1e-8, False), (1e-3, False)])
@pytest.mark.parametrize("name", ["one.weight", "two.bias", "norm.running_var"])
def test_an_error_in_one_tensor_has_its_size_and_name(judged, changes, name, relative, passed):
    array = changes[LAST][name]
    noise = np.random.default_rng(0).standard_normal(array.shape)
    changes[LAST][name] = array + relative * noise * np.linalg.norm(array) / np.linalg.norm(noise)
    finding = judged(changes)
    assert finding.passed is passed
    assert relative / 4 < finding.error < relative * 3
    if not passed:
        assert finding.where == f"change of {name}"
        assert finding.note.startswith("1 of 7 tensors differ")


def test_the_first_tensor_that_differs_is_named_and_not_the_worst(judged, changes):
    changes[LAST]["one.bias"] *= 1.2
    changes[LAST]["two.weight"] *= 2
    assert judged(changes).where == "change of one.bias"


def test_an_error_that_spread_from_another_tensor_is_not_the_cause(judged, changes):
    changes[LAST]["one.bias"] *= 1 + 1e-6
    changes[LAST]["two.weight"] *= 2
    finding = judged(changes)
    assert finding.where == "change of two.weight"
    assert finding.note.startswith("2 of 7 tensors differ")


def test_a_step_before_the_kept_one_that_differs_is_seen(judged, changes):
    changes[0]["two.weight"] *= 1.01
    finding = judged(changes)
    assert not finding.passed
    assert finding.where == "all changes together after step 1"


def test_rounding_noise_where_nothing_should_change_passes(workload, changes, observed, reference):
    """This happens to BERT's key biases, whose gradient is zero in theory."""
    changes[LAST]["two.bias"] = np.full(4, 1e-16)
    expected = trajectory(observed(changes), workload)
    changes[LAST]["two.bias"] = np.array([1e-16, -2e-16, 0, 3e-16])
    finding = judge_trajectory(observed(changes), expected, workload, check="x")
    assert finding.passed


def test_changes_that_are_small_beside_their_parameters_are_rounded(workload, changes, observed):
    """In GPT-2's norms, a change of 4e-8 to a weight near 1 was rounded by 3e-9 of the change."""
    initial = {name: a.astype(np.float64) for name, a in workload.parameters(seed=0)}
    small = [{name: 3e-6 * one[name] for name in one} for one in changes]
    expected = trajectory(observed(small), workload)
    beneath = [{name: (initial[name] + one[name]) - initial[name] for name in one} for one in small]
    finding = judge_trajectory(observed(beneath), expected, workload, check="optimizer")
    assert EXACT < finding.error < finding.gate
    assert finding.passed
    beneath[LAST]["norm.weight"] *= 1 + 10 * finding.gate
    finding = judge_trajectory(observed(beneath), expected, workload, check="optimizer")
    assert finding.where == "change of norm.weight"
    assert not finding.passed


def scaled(changes, factor, names=None):
    for name in names or changes[LAST]:
        changes[LAST][name] = changes[LAST][name] * factor


def hint_for(judged, changes):
    finding = judged(changes)
    assert not finding.passed
    assert finding.note in str(finding)
    return finding.note


def test_hint_no_update(judged, changes):
    scaled(changes, 0)
    assert "skips its update" in hint_for(judged, changes)


def test_hint_frozen(judged, changes):
    scaled(changes, 0, ["one.bias", "two.weight"])
    assert hint_for(judged, changes) == ("2 of 7 tensors differ, 2 of them did not change at all")


@pytest.mark.parametrize("factor", [0.5, 2.0, 65536.0, 1.001])
def test_hint_common_factor(judged, changes, factor):
    scaled(changes, factor)
    assert f"most by the common factor {factor:.6g}" in hint_for(judged, changes)


@pytest.mark.parametrize(
    ("decay", "said"),
    [(True, "those with weight decay"), (False, "those without weight decay")],
)
def test_hint_weight_decay(judged, changes, small, decay, said):
    for tensor in small.tensors:
        if tensor.trainable:
            off = 0.1 if tensor.decay is decay else 1e-6  # errors spread to the others
            noise = np.random.default_rng(1).standard_normal(tensor.shape)
            change = changes[LAST][tensor.name]
            changes[LAST][tensor.name] = change + off * np.abs(change).mean() * noise
    assert said in hint_for(judged, changes)


def test_hint_running_statistics(judged, changes):
    for name in ("norm.running_mean", "norm.running_var"):
        changes[LAST][name] = changes[LAST][name] * 9 + 1e-3
    assert "running statistics most" in hint_for(judged, changes)


def test_hint_a_multiple_of_the_tensor(judged, changes, workload, small):
    for tensor in small.tensors:
        if tensor.trainable:
            start = workload.initial(tensor, seed=0).astype(np.float64)
            changes[LAST][tensor.name] = changes[LAST][tensor.name] - 1e-3 * start
    assert "a multiple of the tensor itself: weight decay" in hint_for(judged, changes)


def test_hint_right_after_the_kept_step(judged, changes):
    changes[1]["two.weight"] *= 1.01
    assert hint_for(judged, changes) == "every tensor is right after step 3"


def test_hint_nothing_in_particular(judged, changes):
    for number, name in enumerate(("one.weight", "one.bias")):
        noise = np.random.default_rng(number).standard_normal(changes[LAST][name].shape)
        changes[LAST][name] = changes[LAST][name] + 1e-4 * noise
    assert hint_for(judged, changes) == "2 of 7 tensors differ"


def test_a_lie_of_a_real_step_is_told(observed):
    """The evidence is not made up: workers gather it from the tiny framework's own faults."""
    from mbench_tiny_flaky import FlakyRuntime

    from mbench.contract.wire import Observe
    from mbench.proofs.reference import PLAIN_RATE, trajectory
    from mbench.worker.evidence import observe

    case = make_case(precision="fp64")
    own = proof_work(case, learning_rate=1e-3)
    plain = own.plain(PLAIN_RATE)
    runtime = FlakyRuntime(device="cpu", threads=1)

    def seen(work, lie=""):
        request = Observe(seed=0, steps=1 if work is plain else 3)
        runtime.fault = lie
        return observe(prepared(runtime, work_of(case, proof=work)), request)

    for made, lie, said in (
        (own, "", ""),
        (plain, "", ""),
        (plain, "frozen", "1 of them did not change at all"),
        (plain, "unscaled", "common factor 8"),
        (own, "no-decay", "those with weight decay"),
    ):
        workload = resolve(case, made)
        expected = trajectory(seen(made), workload)
        finding = judge_trajectory(seen(made, lie), expected, workload, check="updates")
        assert finding.passed is (lie == "")
        assert said in finding.note
