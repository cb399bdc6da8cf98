"""Findings on parameters, outputs, losses and FLOPs, and the proofs that consist of them."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace

import numpy as np
import pytest

from mbench.contract.reading import read_fields
from mbench.contract.sketch import sketch
from mbench.contract.workload import Tensor
from mbench.proofs.judge import (
    CheckResult,
    Proof,
    judge_dropout,
    judge_flops,
    judge_losses,
    judge_outputs,
    judge_parameters,
)
from mbench.proofs.tolerances import DRIFT, EXACT, TIMED
from mbench.results.proof import ProofRecord


def test_a_proof_comes_back_from_its_record():
    found = [
        CheckResult("outputs", 1e-12, EXACT, "logits", "a note"),
        CheckResult("flops", None, 0.05),
    ]
    proof = Proof(found, ["by other means"], version="1.2")
    text = json.dumps(asdict(proof.record()))
    assert Proof.of(read_fields(ProofRecord, json.loads(text), where="proof")) == proof


def test_parameters_that_are_right(workload, changes, observed):
    finding = judge_parameters(observed(changes), workload)
    assert (finding.passed, finding.error) == (True, 0.0)


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        ({"one.bias": None}, "parameters: one.bias is missing"),
        ({"three": [2]}, "parameters: three is unexpected"),
        ({"one.weight": [8, 16]}, "parameters: one.weight has shape [8, 16] instead of [16, 8]"),
    ],
)
def test_parameters_that_are_not(workload, changes, observed, shapes, said):
    seen = observed(changes)
    named = {k: v for k, v in {**seen.shapes, **shapes}.items() if v is not None}
    finding = judge_parameters(replace(seen, shapes=named), workload)
    assert not finding.passed
    assert str(finding) == said


def test_a_parameter_that_is_not_trained_is_counted(workload, changes, observed):
    seen = observed(changes)
    finding = judge_parameters(replace(seen, trainable_parameters=228 - 16), workload)
    assert not finding.passed
    assert "212 trainable, not 228" in str(finding)


LOGITS, POOLED = np.arange(1.0, 30.0), np.arange(5.0)


def outputs(changes, observed, **arrays):
    seen = observed(changes[:1], [None])
    (step,) = seen.steps
    made = {name: sketch(name, array) for name, array in arrays.items()}
    return replace(seen, steps=[replace(step, outputs=made)])


EXPECTED = {"logits": np.array(sketch("logits", LOGITS)), "next": np.array(sketch("next", POOLED))}


@pytest.mark.parametrize(("off", "passed"), [(0.0, True), (1e-6, True), (1e-4, False)])
def test_outputs_by_their_gate(changes, observed, off, passed):
    seen = outputs(changes, observed, logits=LOGITS, next=POOLED * (1 + off))
    finding = judge_outputs(seen, EXPECTED, gate=1e-5, check="timed")
    assert finding.passed is passed
    assert finding.error == pytest.approx(
        off * np.linalg.norm(EXPECTED["next"][1:]) / np.linalg.norm(POOLED), rel=1e-3, abs=1e-15
    )
    if not passed:
        assert finding.where == "output next"


@pytest.mark.parametrize(
    ("logits", "pooled", "said"),
    [
        (1.0, 1.5, "logits right: the cause is in what they do not share"),
        (1.5, 1.0, "next right: the cause is in what they do not share"),
        (1.001, 1.001, "an error this small may come from an epsilon or an approximation"),
        (1.5, 1.5, ""),
    ],
)
def test_hints_of_outputs(changes, observed, logits, pooled, said):
    seen = outputs(changes, observed, logits=LOGITS * logits, next=POOLED * pooled)
    assert judge_outputs(seen, EXPECTED, gate=1e-9, check="outputs").note == said


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({}, "outputs none instead of logits, next"),
        ({"logits": LOGITS}, "outputs logits instead of logits, next"),
        ({"logits": LOGITS, "last": POOLED}, "outputs last, logits instead of"),
    ],
)
def test_outputs_of_other_names_fail(changes, observed, arrays, said):
    seen = outputs(changes, observed, **arrays)
    finding = judge_outputs(seen, EXPECTED, gate=1.0, check="outputs")
    assert not finding.passed
    assert said in str(finding)


@pytest.mark.parametrize(
    ("losses", "drift", "failed"),
    [
        ([2.0, 1.9, 1.8], 0.0, None),
        ([2.0 + 1e-10, 1.9, 1.8], 0.0, None),
        ([2.0 + 1e-8, 1.9, 1.8], 0.0, "loss of step 1"),
        ([2.0, 1.9, 1.7], 0.0, "loss of step 3"),
        ([2.0, 1.8, 1.7], 0.0, "loss of step 2"),
        ([None, 1.9, 1.8], 0.0, "loss of step 1"),
        ([2.0, 1.905, 1.81], 0.1, None),
        ([2.0, 1.92, 1.81], 0.1, "loss of step 2"),
        ([2.0 + 1e-8, 1.9, 1.8], 0.1, "loss of step 1"),  # nothing has drifted yet
        ([2.0, 2.0, 2.0], 0.1, "loss of step 2"),  # the step skips its update
    ],
)
def test_losses(losses, drift, failed, small):
    finding = judge_losses(losses, small.losses, gate=EXACT, check="loss", drift=drift)
    assert finding.passed is (failed is None)
    if failed:
        assert finding.where == failed


@pytest.mark.parametrize(
    ("loss", "said"),
    [(16.0, "8 times what it should be: a sum in place of a mean"), (16.1, ""), (0.25, "")],
)
def test_hint_of_a_sum(small, loss, said):
    losses = [loss, *small.losses[1:]]
    assert judge_losses(losses, small.losses, gate=EXACT, check="loss").note == said


def test_a_skipped_update_is_off_by_more_than_any_drift_allows():
    assert DRIFT < 0.5


def test_as_many_losses_as_expected():
    with pytest.raises(ValueError, match="zip"):
        judge_losses([2.0], [2.0, 1.9], gate=1.0, check="loss")


@pytest.mark.parametrize(
    ("first", "again", "said"),
    [
        (2.1, 1.95, None),
        (2.1, 2.1, "dropout is off"),
        (2.0, 2.05, "dropout is off"),
        (None, 2.0, "no loss"),
        (2.1, None, "no loss"),
        (3.5, 2.0, "loss with dropout off by 0.75"),
    ],
)
def test_dropout(first, again, said):
    finding = judge_dropout(first, again, 2.0)
    assert finding.passed is (said is None)
    if said:
        assert said in str(finding)


@pytest.mark.parametrize(
    ("factor", "passed"), [(1.0, True), (1.04, True), (0.5, False), (3, False)]
)
def test_flops(workload, factor, passed):
    finding = judge_flops(workload.forward_flops() * factor, workload)
    assert finding.passed is passed


def test_flops_that_were_not_counted(workload):
    finding = judge_flops(None, workload)
    assert finding.passed
    assert "does not count them" in str(finding)


def test_gates_are_wider_where_arithmetic_is_coarser():
    order = ["fp64", "fp32", "amp-fp16", "amp-bf16"]
    gates = [TIMED[name] for name in order]
    assert gates == sorted(gates)
    assert TIMED["fp16"] >= TIMED["amp-fp16"]
    assert TIMED["bf16"] >= TIMED["amp-bf16"]


@pytest.mark.parametrize("error", [math.nan, math.inf])
def test_what_is_not_a_number_does_not_pass(error):
    assert not CheckResult("loss", error, 1.0, "loss of step 1").passed


def test_a_proof_is_proven_by_all_findings():
    good, failed = (
        CheckResult("loss", 0.0, 1.0, "x"),
        CheckResult("loss", 2.0, 1.0, "loss of step 1"),
    )
    assert Proof([good]).proven
    assert not Proof([good, failed]).proven
    assert Proof([good, failed]).failures() == [failed]


def test_the_record_of_a_proof_is_strict_json():
    findings = [
        CheckResult("timed", 1e-7, 1e-5, "loss of step 2"),
        CheckResult("timed", 3e-7, 1e-5, "loss of step 3"),
        CheckResult("timed", math.inf, 1e-5, "outputs none instead of logits"),
        CheckResult("flops", None, 0.05, note="no counter"),
        CheckResult("parameters", math.inf, 0.0, "w is missing"),
    ]
    made = Proof(findings, ["a note"]).record()
    text = json.dumps(asdict(made), allow_nan=False)
    assert read_fields(ProofRecord, json.loads(text), where="proof") == made
    assert made.proven is False
    assert made.worst == 3e-7
    assert made.failures == [
        "timed: outputs none instead of logits", "parameters: w is missing",
    ]  # fmt: skip
    assert [finding.error for finding in made.findings] == [1e-7, 3e-7, None, None, None]
    assert [finding.passed for finding in made.findings] == [True, True, False, True, False]


def test_the_small_workload_is_what_these_tests_think(small):
    assert sum(tensor.size for tensor in small.tensors if tensor.trainable) == 228
    assert {type(tensor) for tensor in small.tensors} == {Tensor}
