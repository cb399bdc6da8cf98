"""Sweeps multiply into comparisons; what does not exist is refused with similar names."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest
from mbench_tiny import Tiny
from support.experiments import asked

from mbench.errors import UsageError
from mbench.spec.arm import Arm, labels_of, tell_apart
from mbench.spec.experiment import Sweep
from mbench.spec.planning import plan, with_mixed


class Graphic(Tiny):
    """The only compiler that it shares with tiny, "eager", is not its default."""

    name = "graphic"
    title = "Graphic"
    compilers = {"graph": "whole graphs", "eager": "one by one"}  # noqa: RUF012
    tuned_by = ()

    def model_file(self, workload):
        return "mbench_tiny"

    def requirements(self, version, accelerator):
        if version == "0.0":
            raise ValueError("graphic 0.0 was never released")
        return []


@pytest.fixture
def plugins(plugins):
    plugins.adapters.add("graphic", "graphic_plugin", Graphic())
    return plugins


def sweep(frameworks=("tiny", "graphic"), sizes=None, device="cpu", **wanted):
    wanted = {"model": ("tiny-model",), **wanted}
    return asked(frameworks=frameworks, wanted=wanted, sizes=sizes or {}, device=device)


def test_all_axes_multiply_and_everything_is_numbered_in_order(plugins):
    made = plan(
        sweep(
            mode=("train", "inference"),
            batch_size=(8, 16, 32),
            precision=("fp32", "fp64"),
            compiler=("default", "eager"),
        ),
        plugins,
    )
    assert [comparison.number for comparison in made] == list(range(2 * 3 * 2 * 2))
    entries = [entry for comparison in made for entry in comparison.entries]
    assert [entry.number for entry in entries] == list(range(2 * len(made)))
    assert len({comparison.title for comparison in made}) == len(made)
    assert len({entry.case for entry in entries if entry.label == "tiny"}) == 2 * 3 * 2
    for comparison in made:
        tiny, graphic = comparison.entries
        assert (tiny.label, graphic.label) == ("tiny", "graphic")
        alike = ("model", "mode", "batch_size", "precision", "device", "threads", "seed", "clip")
        for name in alike:
            assert getattr(tiny.case, name) == getattr(graphic.case, name)


def cases_of(*frameworks, plugins, **wanted):
    (comparison,) = plan(sweep(frameworks, **wanted), plugins)
    return comparison.title, {entry.label: entry.case for entry in comparison.entries}


def test_entries_of_one_framework_differ_by_their_settings(plugins):
    title, found = cases_of("graphic", "graphic:eager", "graphic:fp64:X=1:threads=3",
                            plugins=plugins)  # fmt: skip
    assert title == "tiny-model train, batch 64", "without what they differ in"
    assert list(found) == ["graphic", "graphic:eager", "graphic:fp64:X=1:threads=3"]
    plain, eager, other = found.values()
    assert (plain.compiler, plain.precision, plain.threads) == ("graph", "fp32", 1)
    assert replace(eager, compiler="graph") == plain
    assert (other.precision, other.threads, other.variables) == ("fp64", 3, {"X": "1"})
    assert replace(other, precision="fp32", threads=1, variables={}) == plain


def test_what_is_shown_is_what_was_typed(plugins):
    labels = list(cases_of("tiny:fp32", "graphic:graph", plugins=plugins)[1])
    assert labels == ["tiny:fp32", "graphic:graph"]
    _, found = cases_of("graphic:graph", "graphic:eager", compiler=("eager",), plugins=plugins)
    assert {label: case.compiler for label, case in found.items()} == {
        "graphic:graph": "graph", "graphic:eager": "eager",
    }  # fmt: skip
    assert list(cases_of("tiny:eager", "tiny", plugins=plugins)[1]) == ["tiny:eager", "tiny"]
    assert list(cases_of("TINY", "tiny", plugins=plugins)[1]) == ["tiny#1", "tiny#2"]


def test_an_arm_may_have_a_name(plugins):
    python = sys.executable
    texts = ("old=tiny==1.0", f"new=tiny@{python}:eager", "graphic")
    (comparison,) = plan(sweep(texts), plugins)
    assert [entry.label for entry in comparison.entries] == ["old", "new", "graphic"]
    assert [entry.spec.text for entry in comparison.entries] == [
        "tiny==1.0", f"tiny@{python}", "graphic",
    ]  # fmt: skip
    with pytest.raises(UsageError, match="tiny=graphic: tiny is a framework; give it another name"):
        plan(sweep(("tiny=graphic",)), plugins)


def test_what_all_entries_set_alike_is_in_the_title(plugins):
    title, _ = cases_of("tiny:fp64:X=1", "graphic:fp64:eager:X=1", plugins=plugins)
    assert title == "tiny-model train, batch 64, fp64, X=1"


def test_the_default_compiler_is_each_frameworks_own(plugins):
    (comparison,) = plan(sweep(), plugins)
    assert [entry.case.compiler for entry in comparison.entries] == ["eager", "graph"]
    assert comparison.title == "tiny-model train, batch 64, fp32"


def test_a_named_compiler_is_for_all_and_in_the_title(plugins):
    (comparison,) = plan(sweep(compiler=("eager",)), plugins)
    assert [entry.case.compiler for entry in comparison.entries] == ["eager", "eager"]
    assert comparison.title.endswith(" eager")


def test_what_a_framework_cannot_do_is_kept_with_its_reason(plugins):
    (comparison,) = plan(sweep(compiler=("graph",)), plugins)
    tiny, graphic = (entry.support for entry in comparison.entries)
    assert tiny.reason == "Tiny has no compiler 'graph'; it has eager, imaginary"
    assert not tiny.supported
    assert graphic.supported
    (comparison,) = plan(sweep(precision=("amp-bf16",)), plugins)
    assert {entry.support.reason for entry in comparison.entries} == {
        "tiny knows fp32 and fp64 only"
    }


@pytest.mark.parametrize(("device", "size"), [("cpu", 4), ("cuda", 128)])
def test_the_batch_size_is_the_models_own_where_none_is_asked_for(plugins, device, size):
    (comparison,) = plan(sweep(model=("resnet50",), device=device), plugins)
    assert {entry.case.batch_size for entry in comparison.entries} == {size}


def test_sizes_go_to_the_models_that_have_them(plugins):
    resnet, bert = plan(
        sweep(model=("resnet50", "bert-base"), sizes={"image_size": 96, "sequence_length": 64}),
        plugins,
    )
    assert [e.case.sizes for e in resnet.entries] == [{"image_size": 96}] * 2
    assert [e.case.sizes for e in bert.entries] == [{"sequence_length": 64}] * 2


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"frameworks": ("tinny",)}, "unknown framework 'tinny'; did you mean tiny?"),
        ({"frameworks": ("tiny==",)}, "is not a framework"),
        ({"frameworks": ("graphic==0.0",)}, "graphic 0.0 was never released"),
        ({"model": ("resnet51",)}, "unknown model 'resnet51'; did you mean resnet50"),
        ({"mode": ("training",)}, "unknown mode 'training'; did you mean train?"),
        ({"precision": ("fp31",)}, "unknown precision 'fp31'; did you mean fp32"),
        ({"compiler": ("grph",)}, "unknown compiler 'grph'; did you mean graph?"),
        ({"compiler": ("zzz",)}, "'zzz'; available: best, default, eager, graph, imaginary"),
        (
            {"sizes": {"image_size": 96}},
            "size image_size fits none of the models tiny-model; they take none",
        ),
        ({"model": ("resnet50",), "sizes": {"pixels": 9}}, "resnet50; they take image_size"),
        (
            {"model": ("resnet50",), "sizes": {"image_size": 9}},
            "image_size of resnet50 must be 32",
        ),
    ],
)
def test_what_does_not_exist_or_fit_is_refused(plugins, changes, said):
    with pytest.raises(UsageError, match=said.replace("?", r"\?")):
        plan(sweep(**changes), plugins)


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        (["a", "b"], ["a", "b"]),
        (["a", "a", "b", "a"], ["a#1", "a#2", "b", "a#3"]),
        ([], []),
    ],
)
def test_labels_are_told_apart(labels, told):
    assert tell_apart(labels) == told


@pytest.mark.parametrize(
    ("arms", "labels"),
    [
        (["torch@/a/python:threads=1", "torch@/a/python"], ["torch:threads=1", "torch"]),
        (["torch@/a/python", "torch@/a/python"], ["torch#1", "torch#2"]),
        (["torch@/a/python", "tf@/a/python"], ["torch", "tf"]),
        (["torch@/a/python", "torch@/b/python"], ["torch@/a/python", "torch@/b/python"]),
        (["torch", "torch@/b/python"], ["torch", "torch@/b/python"]),
        (["old=torch@/a/python", "tf==2.0"], ["old", "tf==2.0"]),
    ],
)
def test_a_path_is_in_a_label_only_where_it_tells_two_apart(arms, labels):
    found = [Arm(text) for text in arms]
    assert labels_of(found, [arm.spec for arm in found]) == labels


def test_one_framework_may_be_compared_with_itself(plugins):
    (comparison,) = plan(sweep(frameworks=("tiny", "tiny", "tiny==1.26")), plugins)
    assert [entry.label for entry in comparison.entries] == ["tiny#1", "tiny#2", "tiny==1.26"]
    assert [entry.spec.version for entry in comparison.entries] == [None, None, "1.26"]


def adapter(title, *, cuda="amp-fp16"):
    return SimpleNamespace(title=title, mixed={"cpu": "amp-bf16", "cuda": cuda}.__getitem__)


@pytest.mark.parametrize(("device", "precision"), [("cpu", "amp-bf16"), ("cuda", "amp-fp16")])
def test_amp_is_the_mixed_precision_that_frameworks_have(device, precision):
    adapters = [adapter("One"), adapter("Two")]
    found = with_mixed(Sweep(amp=True), adapters, device=device)
    assert found.axes == {"precision": (precision,)}
    assert with_mixed(Sweep(amp=False), adapters, device=device).axes == {}
    both = Sweep(axes={"precision": ("fp32", precision)}, amp=True)
    assert with_mixed(both, adapters, device=device).axes == both.axes


def test_amp_names_frameworks_that_differ():
    adapters = [adapter("One"), adapter("Two", cuda="amp-bf16")]
    said = "amp-fp16 in One, amp-bf16 in Two; give one of them with --precision"
    with pytest.raises(UsageError, match=said) as error:
        with_mixed(Sweep(amp=True), adapters, device="cuda")
    assert error.value.option == "--amp"
    with pytest.raises(UsageError, match="--amp contradicts --precision fp32"):
        with_mixed(Sweep(axes={"precision": ("fp32",)}, amp=True), adapters, device="cpu")
