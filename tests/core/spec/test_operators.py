"""A sweep over the operators of models, instead of the models."""

from __future__ import annotations

import pytest
from support.experiments import asked

from mbench.errors import UsageError
from mbench.spec.planning import plan


def sweep(*models, sizes=None, **wanted):
    return asked(
        frameworks=("tiny", "flaky"), wanted={"model": models, **wanted}, sizes=sizes or {},
        operators=True,
    )  # fmt: skip


def test_operators_are_planned_like_models_and_each_once(plugins):
    made = plan(sweep("resnet18", "resnet34", batch_size=(2,), mode=("inference",)), plugins)
    titles = [one.title for one in made]
    assert len(set(titles)) == len(titles), "an operator of both models is planned once"
    stem = made[0]
    assert stem.title.startswith("op:conv2d/2x3x224x224-o64-k7-s2-p3 inference")
    assert stem.counts == {"resnet18": 1, "resnet34": 1}
    same = next(one for one in made if "/2x64x56x56-o64-k3-p1" in one.title)
    assert same.counts == {"resnet18": 4, "resnet34": 6}
    assert [entry.label for entry in same.entries] == ["tiny", "flaky"]
    assert {entry.case.batch_size for entry in same.entries} == {4}, "as usual for an operator"


def test_sizes_modes_and_batches_are_the_models(plugins):
    made = plan(
        sweep("resnet18", sizes={"image_size": 64}, batch_size=(1, 2), mode=("train",)), plugins
    )
    assert "op:conv2d/1x3x64x64-o64-k7-s2-p3 train" in made[0].title
    assert made[0].counts == {"resnet18 at batch 1": 1}
    assert {entry.case.mode for one in made for entry in one.entries} == {"train"}
    assert not any(entry.case.sizes for one in made for entry in one.entries)


def test_a_setting_multiplies_operators_as_it_does_models(plugins):
    made = plan(sweep("tiny-model", precision=("fp32", "fp64")), plugins)
    assert [entry.case.precision for one in made for entry in one.entries[:1]] == [
        "fp32", "fp32", "fp64", "fp64",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({"model": ("gpt2-small",)}, "the operators of gpt2-small are not known"),
        ({"model": ("tiny-model",), "batch_size": ("max",)}, "depend on its batch size"),
    ],
)
def test_what_has_no_operators_is_refused(plugins, wanted, words):
    with pytest.raises(UsageError, match=words):
        plan(asked(frameworks=("tiny",), wanted=wanted, operators=True), plugins)
