"""The parts of a step, and that the operators of a model have all of its FLOPs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from cases import make_case
from support.experiments import asked

from mbench.cli.builtin import mbench_workloads
from mbench.contract.forms import Form
from mbench.errors import UsageError
from mbench.explain.plan import (
    CALLS,
    EMPTY,
    PROTOCOL,
    bare,
    check_protocol,
    form_in,
    phases,
    plan_breakdown,
)
from mbench.scenarios.find import resolve, scenario_of, updates
from mbench.spec.adaptive import Adaptive
from mbench.spec.operators import FAMILIES
from mbench.spec.planning import plan
from mbench.spec.presets import PRESETS
from mbench.spec.selection import load_workload
from mbench.workloads.operators import OPERATORS
from mbench.workloads.resnet import MODELS as RESNETS

WRITTEN = {
    name: load_workload(reference, name)
    for name, reference in mbench_workloads().items()
    if load_workload(reference, name).operations(1, training=True)
}


def test_the_families_that_are_named_are_those_whose_operators_are_written_down():
    assert sorted({workload.family for workload in WRITTEN.values()}) == sorted(FAMILIES)


@pytest.mark.parametrize("workload", WRITTEN.values(), ids=WRITTEN)
def test_the_operators_of_a_model_have_all_its_flops(workload):
    for batch_size in (1, 3):
        names = workload.operations(batch_size, training=False)
        found = sum(OPERATORS[name].forward_flops() for name in names)
        assert found == pytest.approx(workload.forward_flops() * batch_size, rel=1e-9)


def test_the_operators_of_resnet50():
    kinds = Counter(
        name.partition(":")[2].partition("/")[0]
        for name in RESNETS["resnet50"].operations(4, training=True)
    )
    assert kinds == {
        "conv2d": 53, "batch_norm": 53, "relu": 49, "add": 16, "max_pool": 1, "mean_pool": 1,
        "linear": 1, "cross_entropy": 1,
    }  # fmt: skip


@pytest.mark.parametrize("model", ["llama-6m", "llama-15m", "llama3.2-1b"])
def test_the_operators_of_new_tokens_have_their_flops_but_for_empty_positions(model):
    """Linear layers and the head match exactly; attention is counted over the whole cache."""
    case = make_case(
        model=model, workload=mbench_workloads()[model], mode="decode", batch_size=3,
        sizes={"prompt_length": 20, "new_tokens": 7},
    )  # fmt: skip
    workload, config = resolve(case), resolve(case).config
    names = scenario_of(case).operations(workload, 3)
    attention = [name for name in names if name.startswith("op:grouped_attention")]
    shape = f"3x1x27x{config.heads}x{config.key_value_heads}x{config.width}"
    assert attention == [f"op:grouped_attention/{shape}"] * 7 * config.layers
    masked = 4 * config.layers * config.hidden * sum(27 - at for at in range(21, 28))
    found = sum(OPERATORS[name].forward_flops() for name in names)
    assert found == pytest.approx(3 * (workload.decode_flops() + masked), rel=1e-9)


@pytest.mark.parametrize(
    ("mode", "kinds"),
    [
        ("prefill", {"embedding": 1, "linear": 43, "rms_norm": 13, "rotary": 12, "add": 12,
                     "grouped_attention": 6, "swiglu": 6}),
        ("train", {"embedding": 1, "linear": 43, "rms_norm": 13, "rotary": 12, "add": 12,
                   "grouped_attention": 6, "swiglu": 6, "cross_entropy": 1}),
    ],
)  # fmt: skip
def test_a_decoder_is_taken_apart_in_each_mode(plugins, mode, kinds):
    (whole,) = plan(
        asked(frameworks=("tiny",), wanted={"model": ("llama-15m",), "mode": (mode,)}), plugins
    )
    planned = plan_breakdown(whole)
    cases = [part.comparison.entries[0].case for part in planned.parts]
    operators = {case.model: case for case in cases if case.model.startswith("op:")}
    counts = Counter()
    for part in planned.event.parts:
        if part.model in operators and part.model != EMPTY:
            counts[operators[part.model].model.partition("/")[0][3:]] += part.count
    assert counts == kinds
    expected = "train" if mode == "train" else "inference"
    assert {case.mode for case in operators.values()} == {expected}
    forms = [case for case in cases if "+" in case.model]
    assert [(case.model, case.mode) for case in forms] == [
        ("llama-15m+layers", mode), ("llama-15m+layers.3of6", mode),
    ]  # fmt: skip
    (layers,) = {part.stages["layers"] for part in planned.event.parts
                 if part.model.startswith("op:swiglu")}  # fmt: skip
    assert layers == 6


def test_new_tokens_call_each_operator_as_often_as_they_are(plugins):
    sizes = {"prompt_length": 64, "new_tokens": 4}
    wanted = {"model": ("llama-15m",), "mode": ("decode",), "batch_size": (1,)}
    (whole,) = plan(asked(frameworks=("tiny",), wanted=wanted, sizes=sizes), plugins)
    made = {part.model: part for part in plan_breakdown(whole).event.parts}
    attention = made["op:grouped_attention/1x1x68x6x6x48"]
    assert (attention.count, attention.stages) == (24, {"layers": 24})
    assert made["op:linear/1x288x32000-b0"].count == 4


def test_they_follow_the_sizes_of_a_case():
    names = RESNETS["resnet18"].resized(image_size=64).operations(2, training=False)
    assert names[0] == "op:conv2d/2x3x64x64-o64-k7-s2-p3"
    assert names[-1] == "op:linear/2x512x1000"
    assert all(OPERATORS[name] for name in names)


def test_parts_are_numbered_after_the_whole(plugins):
    (whole,) = plan(
        asked(frameworks=("tiny", "flaky"), wanted={"model": ("tiny-model",), "batch_size": (8,)}),
        plugins,
    )
    planned = plan_breakdown(whole)
    made = planned.comparisons
    assert [one.number for one in made] == list(range(6))
    assert [entry.number for one in made for entry in one.entries] == list(range(12))
    assert made[0] is whole
    assert [part.count for part in planned.parts] == [1, 1, 1, 1, 1]
    assert planned.event.whole == 0
    assert [part.comparison for part in planned.event.parts] == [1, 2, 3, 4, 5]
    empty, linear = made[1].entries[0].case, made[2].entries[0].case
    assert (empty.model, empty.batch_size) == (EMPTY, 1)
    assert (linear.model, linear.batch_size) == ("op:linear/8x256x64", CALLS)
    assert linear.mode == "train"
    assert all(entry.support.supported for one in made for entry in one.entries)


def test_the_longer_forms_of_a_model_come_last(plugins):
    (whole,) = plan(
        asked(frameworks=("tiny", "flaky"), wanted={"model": ("tiny-deep",), "mode": ("train",)}),
        plugins,
    )
    made = plan_breakdown(whole).comparisons
    titles = ["front twice", "back twice", "front longer by 1 of 2 blocks",
              "back longer by 1 of 3 blocks"]  # fmt: skip
    assert [one.title.rpartition(", ")[2] for one in made[-4:]] == titles
    forms = [f"tiny-deep+{form}" for form in ("front", "back", "front.1of2", "back.1of3")]
    for comparison, form in zip(made[-4:], forms, strict=True):
        for entry, own in zip(comparison.entries, whole.entries, strict=True):
            assert entry.case == replace(own.case, model=form)
            assert resolve(entry.case).name == form
            assert entry.support.supported
    found = [form_in(form, "tiny-deep") for form in forms]
    assert found == [Form("front"), Form("back"), Form("front", 1, 2), Form("back", 1, 3)]
    assert [form.twice for form in found] == [True, True, False, False]
    assert form_in("tiny-deep", "tiny-deep") is form_in("op:add/1x1", "tiny-deep") is None


def test_the_calls_of_each_stage_are_those_of_the_blocks_that_lengthen_it(plugins):
    (whole,) = plan(
        asked(frameworks=("tiny",), wanted={"model": ("resnet18",), "batch_size": (1,)}), plugins
    )
    made = {part.model: part for part in plan_breakdown(whole).event.parts}
    own = made["op:conv2d/1x256x14x14-o256-k3-p1"]
    assert (own.count, own.stages) == (3, {"layer3": 4})
    assert made["op:conv2d/1x64x56x56-o64-k3-p1"].stages == {"layer1": 4}
    assert made["op:max_pool/1x64x112x112-k3-s2-p1"].stages == {}


def test_a_longer_form_has_the_sizes_of_its_case(plugins):
    (whole,) = plan(
        asked(frameworks=("tiny",), wanted={"model": ("resnet18",)}, sizes={"image_size": 64}),
        plugins,
    )
    forms = [
        one.entries[0].case for one in plan_breakdown(whole).comparisons if "twice" in one.title
    ]
    assert [case.model for case in forms] == [f"resnet18+layer{n}" for n in (1, 2, 3, 4)]
    assert {resolve(case).config.image_size for case in forms} == {64}


def test_a_step_grows_by_one_thing_at_a_time():
    case = make_case(model="bert-base", workload="mbench.workloads.bert:MODELS")
    assert bare(make_case()) == make_case()
    least = bare(case)
    assert (least.clip, least.dropout) == (False, False)
    found = phases(least, case)
    assert list(found) == ["forward", "backward", "update", "clipping", "dropout"]
    assert found["dropout"] == case
    assert found["clipping"] == replace(case, dropout=False)
    assert found["backward"] == replace(least, mode="backward")
    assert not updates(found["backward"])
    unclipped = replace(case, clip=False)
    assert list(phases(bare(unclipped), unclipped)) == ["forward", "backward", "update", "dropout"]


def test_a_model_whose_operators_are_not_known_is_refused(plugins):
    (whole,) = plan(asked(frameworks=("tiny",), wanted={"model": ("op:add/3x4",)}), plugins)
    with pytest.raises(UsageError, match="the operators of op:add/3x4 are not known"):
        plan_breakdown(whole)


def test_batch_sizes_that_are_searched_for_are_refused(plugins):
    (whole,) = plan(
        asked(frameworks=("tiny",), wanted={"model": ("tiny-model",), "batch_size": ("max",)}),
        plugins,
    )
    with pytest.raises(UsageError, match="explain does not search for a batch size"):
        plan_breakdown(whole)


@pytest.mark.parametrize(
    "protocol", [Adaptive(half_width_goal=0.02), Adaptive(builds=2), PRESETS["nvidia"]]
)
def test_protocols_without_a_fixed_number_of_sets_are_refused(protocol):
    check_protocol(PRESETS[PROTOCOL])
    with pytest.raises(UsageError, match="explain measures a fixed number of sets"):
        check_protocol(protocol)
