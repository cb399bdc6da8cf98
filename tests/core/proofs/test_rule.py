"""Update rules in float64, and findings on optimizers that follow another rule."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mbench.contract.sketch import sketch
from mbench.contract.wire import StepEvidence
from mbench.proofs.changes import RULE_RATE, judge_rule, updated
from mbench.workloads.bert import BERT_BASE
from mbench.workloads.given import GIVEN
from mbench.workloads.images import RECIPE

RULES = {"sgd": RECIPE, "adamw": BERT_BASE.optimizer}
STEPS = 3


def given(rule):
    return replace(GIVEN, optimizer=replace(rule, learning_rate=RULE_RATE))


def evidence(workload, *, changed=None, seeds=range(STEPS), keep=float):
    """Evidence of an optimizer by the workload's rule or `changed`; `keep` is its weights' type."""
    weights = dict(workload.parameters(seed=0))
    spec = changed or workload.optimizer
    decays = {tensor.name: spec.weight_decay * tensor.decay for tensor in workload.tensors()}
    gradients = [workload.gradients(seed=seed) for seed in seeds]
    return [
        StepEvidence(
            loss=0.0,
            outputs={},
            parameters={
                name: sketch(name, array.astype(keep), start=weights[name])
                for name, array in now.items()
            },
        )
        for now in updated(spec, weights, decays, gradients)
    ]


@pytest.mark.parametrize("rule", RULES)
def test_the_rule_in_float32_passes(rule):
    workload = given(RULES[rule])
    finding = judge_rule(evidence(workload, keep=np.float32), workload, precision="fp32", seed=0)
    assert finding.passed
    assert finding.error > 0


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("sgd", {"momentum": 0.89}),
        ("sgd", {"weight_decay": 0.0}),
        ("sgd", {"learning_rate": RULE_RATE * (1 + 1e-5)}),
        ("adamw", {"weight_decay": 0.0}),
        ("adamw", {"betas": (0.9, 0.998)}),
        ("adamw", {"clip_norm": None}),
        ("adamw", {"epsilon": 1e-3}),
    ],
)
def test_another_constant_is_told(rule, change):
    workload = given(RULES[rule])
    lie = evidence(workload, changed=replace(workload.optimizer, **change))
    finding = judge_rule(lie, workload, precision="fp32", seed=0)
    assert not finding.passed
    assert finding.where.startswith("change of linear.")


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("rule", RULES)
def test_an_optimizer_that_stores_nothing_is_told(rule, precision):
    workload = given(RULES[rule])
    still = evidence(workload, changed=replace(workload.optimizer, learning_rate=0.0))
    finding = judge_rule(still, workload, precision=precision, seed=0)
    assert (finding.passed, finding.error) == (False, pytest.approx(1, rel=0.5))


def test_a_batch_that_is_kept_is_told():
    workload = given(RULES["sgd"])
    assert not judge_rule(
        evidence(workload, seeds=[0, 0, 0]), workload, precision="bf16", seed=0
    ).passed
