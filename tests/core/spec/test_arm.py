"""Frameworks with settings, as users write them."""

from __future__ import annotations

import pytest
from mbench_tiny import Flaky, Tiny

from mbench.errors import UsageError
from mbench.spec import arm as module

FLAKY = Flaky()


def settings(text, adapter=FLAKY, **wanted):
    return module.settings(
        module.Arm(text), adapter, wanted=wanted, others=[Tiny(), FLAKY], sizes={"image_size"}
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("flaky", {}),
        ("flaky:steady", {"compiler": "steady"}),
        ("flaky:steady:steady", {"compiler": "steady"}),
        ("flaky:compiler=steady", {"compiler": "steady"}),
        ("flaky==1.0:amp-bf16:steady", {"precision": "amp-bf16", "compiler": "steady"}),
        ("flaky:threads=1", {"threads": 1}),
        ("flaky:B=2:A=", {"variables": {"A": "", "B": "2"}}),
        ("flaky:A=x::y=1,z", {"variables": {"A": "x:y=1,z"}}),
    ],
)
def test_what_an_arm_sets(text, found):
    assert settings(text) == found


@pytest.mark.parametrize(
    ("text", "python", "words"),
    [
        ("flaky@/a/python:steady", "/a/python", ("steady",)),
        ("flaky@/a::b/python", "/a:b/python", ()),
    ],
)
def test_a_python_has_settings_behind_it(text, python, words):
    arm = module.Arm(text)
    assert (str(arm.spec.python), arm.words) == (python, words)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("flaky:", "write flaky or flaky:SETTING"),
        ("flaky::steady", "is not a framework"),
        ("flaky:steadi", "flaky has no setting 'steadi'; did you mean steady"),
        ("flaky:precision=fp31", "unknown precision 'fp31'; did you mean fp32"),
        ("flaky:eager:steady", "sets compiler to eager and to steady; give one of them"),
        ("flaky:A=1:A=2", "sets A to 1 and to 2; give one of them"),
        ("flaky:threads=0", "'0' is not a whole number of 1 or more"),
        ("flaky:A", "write A=VALUE"),
        ("flaky:batch-size=8", "would not be equal; give --batch-size 8 for all"),
        ("flaky:model=m", "give --models m for all"),
        ("flaky:train", "same mode, or the work would not be equal; give --mode train for all"),
        ("flaky:cuda", "give --device cuda for all"),
        ("flaky:image_size=64", "the same image size, or the work"),
        ("flaky:best", "give --tier best for all"),
        ("flaky:compiler=best", "give --tier best for all"),
        ("flaky:variables=1", "flaky has no setting 'variables=1'"),
    ],
)  # fmt: skip
def test_what_an_arm_cannot_set_is_refused_with_the_mend(text, said):
    with pytest.raises(UsageError) as raised:
        settings(text)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_compiler_of_another_framework_is_told_whose_it_is(monkeypatch):
    monkeypatch.setattr(type(FLAKY), "compilers", {**FLAKY.compilers, "fused": "of its own"})
    with pytest.raises(UsageError, match="fused is a compiler of flaky; tiny has eager, imagin"):
        settings("tiny:fused", Tiny())


def test_a_framework_with_steady_workers_is_an_arm():
    assert settings("tiny:steady", Tiny()) == {"steadiness": "steady"}
    assert settings("flaky:steadiness=steady") == {"steadiness": "steady"}, "steady is a compiler"


def test_what_is_swept_cannot_be_set_for_one():
    assert settings("flaky:steady", compiler=["eager"]) == {"compiler": "steady"}
    with pytest.raises(UsageError, match="--compiler eager,steady sweeps it; give one of them"):
        settings("flaky:steady", compiler=["eager", "steady"])


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("flaky", "flaky"),
        ("Flaky", "flaky"),
        (" flaky==1.0 : A=1:fp64", "flaky==1.0:A=1:fp64"),
        ("flaky@/a/b=c/python:B=x::y:A=1", "flaky@/a/b=c/python:B=x::y:A=1"),
        ("old=flaky==1.0:A=1", "old"),
        ("v2.1-rc=flaky@/a/python", "v2.1-rc"),
    ],
)
def test_it_is_called_by_its_name_or_as_it_was_typed(text, label):
    arm = module.Arm(text)
    assert arm.label("flaky") == label
    if not arm.name:
        assert settings(label) == settings(text)


@pytest.mark.parametrize("text", ["=flaky", "a b=flaky", "old=", "old=:fp64", "-x=flaky"])
def test_a_name_that_is_none(text):
    with pytest.raises(UsageError, match="is not a framework"):
        module.Arm(text)


@pytest.mark.parametrize("text", ["flaky:steady", "flaky:tuned"])
def test_what_is_sought_for_all_cannot_be_set_for_one(text):
    assert settings(text, tier=["default"])
    with pytest.raises(UsageError, match="but --tier best searches for it; give one of them"):
        settings(text, tier=["best"])


def test_words_are_what_may_be_written():
    for word in module.words(FLAKY):
        assert settings(f"flaky:{word}"), word
    assert {"steady", "steadiness=steady", "threads=1"} <= set(module.words(FLAKY))
    assert len(set(module.words(FLAKY))) == len(module.words(FLAKY))
