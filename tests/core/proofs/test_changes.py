"""Findings on what a step changes in the timed precision, where rounding is large."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mbench.proofs.changes import TIMES, judge_changes, visible_rate
from mbench.proofs.tolerances import CHANGES

RATE = 1e-3


@pytest.fixture
def judged(workload, reference, observed):
    """Compares a first step's changes with `factor` times those of the reference's plain step."""

    def judged(changes, precision="amp-bf16", factor=1.0):
        return list(
            judge_changes(
                observed(changes).steps[0], reference.plain.tensors, workload,
                gates=CHANGES[precision], check="gradients", factor=factor,
            )
        )  # fmt: skip

    return judged


def failed(findings):
    return [finding for finding in findings if not finding.passed]


def rounded(changes, relative):
    """Adds noise of `relative` times each tensor's change, as coarse arithmetic does."""
    draw = np.random.default_rng(0)
    for name, array in changes[0].items():
        noise = draw.standard_normal(array.shape)
        changes[0][name] = array + relative * noise * np.linalg.norm(array) / np.linalg.norm(noise)
    return changes


@pytest.mark.parametrize(
    ("precision", "relative"), [("fp32", 1e-4), ("amp-bf16", 0.1), ("bf16", 0.6)]
)
def test_rounding_passes(judged, changes, precision, relative):
    assert failed(judged(rounded(changes, relative), precision)) == []


def test_parameters_change_by_the_rate_and_statistics_do_not(judged, changes):
    for name, array in changes[0].items():
        if "running" not in name:
            changes[0][name] = 7 * array
    assert failed(judged(changes, "fp32", factor=7)) == []
    assert len(failed(judged(changes, "fp32"))) > 1


@pytest.mark.parametrize("precision", ["fp32", "tf32", "amp-fp16", "amp-bf16", "fp16", "bf16"])
@pytest.mark.parametrize("name", ["one.weight", "norm.weight", "two.bias"])
def test_a_tensor_without_its_gradient_is_named(judged, changes, precision, name):
    changes[0][name] = np.zeros_like(changes[0][name])
    worst, *_ = failed(judged(rounded(changes, 1e-4), precision))
    assert worst.where == f"change of {name}"
    assert worst.note == "1 of 5 tensors hardly change"


def test_a_gradient_of_half_its_size_is_told(judged, changes):
    for name, array in changes[0].items():
        if "running" not in name:
            changes[0][name] = array / 2
    wheres = [finding.where for finding in failed(judged(changes))]
    assert wheres == ["size of the changes from one.weight to one.weight"]


@pytest.mark.parametrize(("precision", "noise", "passes"), [
    ("amp-bf16", 1.0, True), ("amp-bf16", 2.0, False), ("fp32", 0.1, True), ("fp32", 0.7, False),
])  # fmt: skip
def test_rounding_adds_its_square_to_a_gradient(judged, changes, precision, noise, passes):
    """In half precision, rounding may be as large as the gradient."""
    sizes = [one for one in judged(rounded(changes, noise), precision) if "size of" in one.where]
    assert len(sizes) == 2
    assert (failed(sizes) == []) is passes


def test_another_direction_is_told_where_rounding_leaves_one(judged, changes):
    changes[0]["two.weight"] = changes[0]["two.weight"][::-1].copy()
    (finding,) = failed(judged(changes, "fp32"))
    assert finding.where == "direction of the changes from two.weight to two.weight"
    assert failed(judged(changes, "bf16")) == []


def test_statistics_that_stand_still_are_told(judged, changes):
    for name in ("norm.running_mean", "norm.running_var"):
        changes[0][name] = np.zeros_like(changes[0][name])
    (finding,) = failed(judged(changes))
    assert (finding.where, finding.error) == ("running statistics", pytest.approx(1, rel=0.5))


def test_a_tensor_alone_is_not_judged_where_its_own_steps_may_be_rounded_away(
    workload, reference, observed, changes
):
    changes[0]["two.bias"] = np.zeros(4)
    gates = replace(CHANGES["fp32"], short=None, shorter=1.0, longer=1.0, direction=None)
    findings = judge_changes(
        observed(changes).steps[0], reference.plain.tensors, workload, gates=gates, check="steps"
    )
    assert failed(findings) == []


def test_a_visible_step_is_as_large_as_the_parameters(workload, reference):
    rate = visible_rate(workload, reference.plain.tensors, RATE)
    trained = [tensor for tensor in workload.tensors() if tensor.trainable]
    held = np.linalg.norm([np.linalg.norm(workload.initial(t, seed=0)) for t in trained])
    norms = dict(zip([t.name for t in workload.tensors()], reference.plain.tensors, strict=True))
    step = np.linalg.norm([norms[tensor.name][0] for tensor in trained]) * rate / RATE
    assert step == pytest.approx(TIMES * held, rel=0.05)
