"""What tells cases apart, and how cases are named."""

from __future__ import annotations

import dataclasses

import pytest
from cases import make_case

from mbench.contract.axes import AXES, MACHINE, alike, hushed, key, name

CASE = make_case(model="resnet50", workload="somewhere:else", threads=2)
OTHER = {
    "model": "vgg11", "mode": "inference", "sizes": {"image_size": 96}, "batch_size": 16,
    "scale": "2x8",
    "precision": "tf32", "tier": "tuned", "compiler": "graph", "device": "cuda", "threads": 4,
    "variables": {"TF_X": "1"}, "steadiness": "steady", "clip": False,
    "accumulate": 2, "checkpoint": True, "data": "/photos", "loaders": 3, "storage": "cold",
    "dropout": False,
}  # fmt: skip
AXIS = pytest.mark.parametrize("axis", AXES, ids=lambda axis: axis.name)


def but(**changes):
    return dataclasses.replace(CASE, **changes)


def test_another_of_each_is_tried():
    assert list(OTHER) == [axis.name for axis in AXES]


@AXIS
def test_every_axis_tells_cases_apart(axis):
    other = but(**{axis.name: OTHER[axis.name]})
    assert key(other) != key(CASE)
    assert name(other) != name(CASE)
    assert key(other, less=[axis.name]) == key(CASE, less=[axis.name])
    assert alike([CASE, other]) == {a.name for a in AXES} - {axis.name}
    assert axis.name not in hushed([CASE, other])


@pytest.mark.parametrize("change", [{"seed": 1}, {"workload": "x:y"}, {"scenario": "x:y"}])
def test_what_is_no_axis_tells_nothing(change):
    assert key(but(**change)) == key(CASE)


def test_a_document_has_the_key_and_the_name_of_its_case():
    for case in (CASE, but(**OTHER)):
        assert key(dataclasses.asdict(case)) == key(case)
        assert name(dataclasses.asdict(case)) == name(case)


def test_the_order_of_sizes_does_not_count():
    one, other = {"rows": 1, "columns": 2}, {"columns": 2, "rows": 1}
    assert key(but(sizes=one)) == key(but(sizes=other))
    assert len({key(but(sizes=one)), key(but(sizes=other))}) == 1


def test_what_is_usual_is_not_said():
    assert name(CASE) == "resnet50 train, batch 8, fp32, eager, cpu, threads 2"
    assert name(CASE, less=MACHINE) == "resnet50 train, batch 8, fp32, eager"
    assert name(CASE, less={"model"}).startswith("train, batch 8")


def test_what_is_unusual_is_said():
    assert name(but(**OTHER)) == (
        "vgg11 inference, image size 96, batch 16, on 2x8 devices, tf32, tier tuned, graph, "
        "cuda, threads 4, TF_X=1, steady, without clipping, 2 micro-batches, with checkpointing, "
        "data /photos, 3 loaders, storage cold, without dropout"
    )


@pytest.mark.parametrize(
    ("axis", "value", "said"),
    [
        ("scale", "1x2", ("on 1 device", "on 1x2 devices")),
        ("tier", "tuned", ("tier default", "tier tuned")),
        ("clip", False, ("with clipping", "without clipping")),
        ("sizes", {"image_size": 96}, ("", "image size 96")),
    ],
)
def test_what_is_usual_is_said_beside_a_case_that_is_not(axis, value, said):
    cases = (CASE, but(**{axis: value}))
    assert tuple(name(case, less=alike(cases), beside=True) for case in cases) == said


def test_threads_and_what_is_usual_go_without_saying():
    usual = {"sizes", "scale", "tier", "variables", "steadiness", "accumulate", "checkpoint",
             "data", "loaders", "storage", "dropout"}  # fmt: skip
    assert hushed([CASE, but(batch_size=1)]) == {*usual, "threads", "clip"}
    assert hushed([but(clip=False)]) == {*usual, "threads"}, "alike, but not as usual"
    assert hushed([CASE, but(threads=1)]) == {*usual, "clip"}


def test_values_as_text():
    sizes, clip = (next(axis for axis in AXES if axis.name == one) for one in ("sizes", "clip"))
    case = but(sizes={"b": 2, "a_size": 1})
    assert (sizes.value(case), sizes.text(case)) == ("a_size=1,b=2", "b 2, a size 1")
    assert (sizes.value(CASE), sizes.text(CASE)) == (None, "")
    variables = next(axis for axis in AXES if axis.name == "variables")
    case = but(variables={"TF_B": "2", "TF_A": "1"})
    assert (variables.value(case), variables.text(case)) == ("TF_A=1,TF_B=2", "TF_A=1, TF_B=2")
    assert (variables.value(CASE), variables.text(CASE)) == (None, "")
    assert [clip.text(but(clip=value)) for value in (True, False)] == ["yes", "no"]
