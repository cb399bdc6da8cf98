"""A case, and what its switches do to the workload."""

from __future__ import annotations

import dataclasses

import pytest
from cases import make_case

from mbench.contract.case import ProofWork
from mbench.scenarios.base import ScenarioBase
from mbench.scenarios.find import SCENARIOS, resolve, takes
from mbench.workloads.bert import BERT_BASE
from mbench.workloads.resnet import RESNET50

RESNET = make_case(model="resnet50", workload="mbench.workloads.resnet:RESNET50", batch_size=4)
BERT = dataclasses.replace(RESNET, model="bert-base", workload="mbench.workloads.bert:BERT_BASE")


@pytest.mark.parametrize(("case", "workload"), [(RESNET, RESNET50), (BERT, BERT_BASE)])
def test_without_switches_it_is_the_workload_itself(case, workload):
    assert resolve(case) == workload


def test_sizes_replace_the_workloads_own():
    resnet = resolve(dataclasses.replace(RESNET, sizes={"image_size": 96}))
    bert = resolve(dataclasses.replace(BERT, sizes={"sequence_length": 64}))
    assert (resnet.config.image_size, bert.config.sequence_length) == (96, 64)


@pytest.mark.parametrize(
    ("case", "sizes"),
    [(RESNET, {"sequence_length": 64}), (BERT, {"image_size": 96}), (RESNET, {"image_size": 1})],
)
def test_a_size_that_does_not_fit_is_refused(case, sizes):
    with pytest.raises(ValueError, match=case.model):
        resolve(dataclasses.replace(case, sizes=sizes))


def test_cases_alike_are_one_in_a_set():
    sizes = {"image_size": 64}
    assert {dataclasses.replace(RESNET, sizes=sizes), RESNET} == {
        dataclasses.replace(RESNET, sizes=dict(sizes)),
        dataclasses.replace(RESNET),
    }


def test_clipping_is_switched_off_alone():
    optimizer = resolve(dataclasses.replace(BERT, clip=False)).optimizer
    assert BERT_BASE.optimizer.clip_norm == 1.0
    assert optimizer == dataclasses.replace(BERT_BASE.optimizer, clip_norm=None)


def test_dropout_is_switched_off_alone():
    workload = resolve(dataclasses.replace(BERT, dropout=False))
    assert BERT_BASE.config.dropout == 0.1
    assert workload.config == dataclasses.replace(BERT_BASE.config, dropout=0.0)
    assert workload.optimizer == BERT_BASE.optimizer


def test_learning_rate_replaces_the_workloads_own():
    own = dataclasses.replace(RESNET50.optimizer, learning_rate=0.5)
    assert resolve(RESNET, ProofWork(optimizer=own)).optimizer == own


@pytest.mark.parametrize(("clip", "norm"), [(True, 1.0), (False, None)])
def test_plain_gradient_descent_keeps_clipping_only(clip, norm):
    plain = ProofWork(optimizer=BERT_BASE.optimizer).plain(1e-3)
    optimizer = resolve(dataclasses.replace(BERT, clip=clip), plain).optimizer
    assert (optimizer.rule, optimizer.momentum, optimizer.weight_decay) == ("sgd", 0.0, 0.0)
    assert optimizer.clip_norm == norm


class Recite(ScenarioBase):
    """A plugin's scenario with sizes that only it uses, and one that it shares with others."""

    name = "recite"
    takes = ("verses", "prompt_length")


def test_sizes_that_a_plugins_scenario_takes_are_its_own():
    known = {**SCENARIOS, "recite": (Recite(),)}
    used = {mode: [size for size in ("verses", "prompt_length", "image_size")
                   if takes(mode, size, known)] for mode in known}  # fmt: skip
    assert used["recite"] == ["verses", "prompt_length"]
    assert used["decode"] == used["prefill"] == ["prompt_length"]
    assert used["train"] == used["inference"] == ["image_size"]
