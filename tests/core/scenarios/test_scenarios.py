"""What scenarios say about a case: which one it has, what is impossible, and its work."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cases import make_case

from mbench.scenarios.collective import COLLECTIVE
from mbench.scenarios.copy import COPIES
from mbench.scenarios.find import (
    OURS,
    SCENARIOS,
    UnknownMode,
    exchanges,
    find_scenarios,
    in_mode,
    resolve,
    scenario_of,
    work_of,
)
from mbench.scenarios.inference import INFERENCE
from mbench.scenarios.operator import CALLS, GRADIENTS
from mbench.scenarios.phase import BACKWARD, FORWARD
from mbench.scenarios.train import TRAIN
from mbench.scenarios.update import UPDATE

OPERATORS = "mbench.workloads.operators:OPERATORS"


def case(model="tiny-model", **changes):
    where = {"workload": OPERATORS} if model.startswith("op:") else {}
    return make_case(model=model, **where, **changes)


def limitation(made):
    return scenario_of(made).limitation(made, resolve(made))


@pytest.mark.parametrize(
    ("model", "mode", "expected"),
    [
        ("tiny-model", "train", TRAIN),
        ("tiny-model", "inference", INFERENCE),
        ("tiny-model", "forward", FORWARD),
        ("tiny-model", "backward", BACKWARD),
        ("op:relu/3x4", "train", GRADIENTS),
        ("op:relu/3x4", "inference", CALLS),
        ("op:sgd/5", "train", UPDATE),
        ("op:to_device/3x4", "inference", COPIES),
        ("op:all_reduce/5", "inference", COLLECTIVE),
    ],
)
def test_a_mode_means_what_suits_the_workload(model, mode, expected):
    made = case(model, mode=mode, scale="1x2" if expected is COLLECTIVE else "1x1")
    assert scenario_of(made) is expected
    assert limitation(made) == ""


@pytest.mark.parametrize(
    ("model", "changes", "said"),
    [
        ("op:to_device/3x4", {"mode": "train"}, "has no gradients: use --mode inference"),
        ("op:all_reduce/5", {"mode": "train", "scale": "1x2"}, "has no gradients: use --mode inf"),
        ("op:all_reduce/5", {"mode": "inference"}, "needs several devices: use --scale 1x2"),
        ("op:matmul_all_reduce/2x3x4", {"mode": "inference", "scale": "1x2", "precision": "bf16"},
         "uses whole numbers that are exact only in fp64, fp32"),
        ("op:relu/3x4", {"mode": "train", "scale": "1x2"}, "it updates nothing that devices"),
        ("op:sgd/5", {"mode": "inference"}, "only updates: use --mode train"),
        ("op:sgd/5", {"scale": "1x2"}, "runs on one device: no gradients are exchanged"),
        ("op:sgd/5", {"precision": "amp-bf16"}, "has no matrix products that amp-bf16 could"),
        ("op:sgd/5", {"precision": "tf32"}, "has no matrix products that tf32 could change"),
        ("op:relu/3x4", {"mode": "forward"}, "has no phases: use --mode train"),
        ("tiny-model", {"mode": "backward", "scale": "1x2"}, "are measured on one device"),
        ("tiny-model", {"mode": "forward", "precision": "amp-fp16"}, "which scales the loss"),
    ],
)  # fmt: skip
def test_what_no_framework_can_do_says_why(model, changes, said):
    assert said in limitation(case(model, **changes))


def test_an_unknown_mode_is_refused_with_those_that_are_known():
    with pytest.raises(
        UnknownMode,
        match=r"no mode dream; available: train, inference, .*, load, prefill, decode",
    ):
        scenario_of(case(mode="dream"))


def test_a_reference_names_a_scenario_several_or_a_mapping():
    assert find_scenarios("train") == find_scenarios("train", OURS) == SCENARIOS["train"]
    assert find_scenarios("any", "mbench.scenarios.train:TRAIN") == (TRAIN,)


def test_in_another_mode_a_case_is_none_of_a_strangers():
    made = case(mode="inference", scenario="mbench.scenarios.train:TRAIN")
    assert scenario_of(made) is TRAIN
    assert scenario_of(in_mode(made, "inference")) is INFERENCE


def test_work_is_counted_as_far_as_a_step_goes():
    modes = ("inference", "forward", "train", "backward")
    flops = {mode: work_of(case(mode=mode)).flops_per_sample for mode in modes}
    once = 2 * 256 * 64
    assert flops == {
        "inference": once, "forward": once, "train": 3 * once, "backward": 3 * once,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("model", "mode", "scale", "due"),
    [
        ("tiny-model", "train", "1x2", True),
        ("tiny-model", "train", "1x1", False),
        ("tiny-model", "inference", "1x2", False),
        ("op:all_reduce/5", "inference", "1x2", True),
    ],
)
def test_who_waits_for_others_in_each_step(model, mode, scale, due):
    assert exchanges(case(model, mode=mode, scale=scale)) is due


def test_phases_update_nothing_and_keep_the_model():
    made = resolve(case(mode="forward"))
    assert made == replace(resolve(case()), optimizer=made.optimizer)
    assert made.optimizer.rule == "none"
