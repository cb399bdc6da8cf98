"""Later steps are compared tensor by tensor; if updates stop, rounding is never an excuse."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cases import GATES
from evidenced import make_process, make_record, said

from mbench.results import events
from mbench.results.validity import unlikeness

STEPS = (4, 16, 32, 64, 128, 256)
TENSORS = {
    "trunk.weight": (1.0, 0.6, -0.8, 0.0, 0.0, 0.0),
    "middle.weight": (0.5, 0.0, 0.3, -0.4, 0.0, 0.0),
    "head.weight": (0.04, 0.024, 0.0, 0.0, -0.032, 0.0),
}
BF16 = replace(GATES, answers=0.1, norm=0.3, direction=0.5, statistics=None, growth=None)
"""Gates as for bfloat16, where growth was once not checked."""


def due(steps):
    """How far parameters come with momentum and constant gradients."""
    return (steps - 9 * (1 - 0.9**steps)) * 10


def made(way=due, *, tensors=None, number=0, data="7", steps=STEPS):
    """A process whose tensors have come as far as `way(step)`, each times its part in `tensors`."""
    process = make_process(number, changes=[(step, (1.0,) * 6) for step in steps])
    process.changes = [
        replace(
            change, due=due(change.step), data=data,
            parameters={
                name: tuple(way(change.step) * part for part in (tensors or TENSORS)[name])
                for name in TENSORS
            },
        )
        for change in process.changes
    ]  # fmt: skip
    return process


def case(*processes, label="tiny", gates=GATES, rounding=0.0):
    record = make_record(*(processes or [made()]), label=label, gates=gates)
    if rounding:
        kinds = ("answers", "norm", "tensor", "direction", "statistics")
        record.nudges = [events.Rounding(case=0, **dict.fromkeys(kinds, rounding))]
    return record


def asleep(step):
    """Nothing moves from the 25th step on."""
    return due(min(step, 24))


def half(step):
    return due(min(step, 16)) + 0.45 * max(0, due(step) - due(16))


@pytest.mark.parametrize("gates", [GATES, BF16])
@pytest.mark.parametrize("times", [0.995, 1.0, 1.005])
def test_honest_processes_agree(gates, times):
    one, other = case(gates=gates), case(made(lambda n: times * due(n)), gates=gates)
    assert said(one, other) == said(other, one) == said(one) == []


def test_a_tensor_that_goes_elsewhere_is_told_however_small_its_share():
    """All changes together differ by less than their gate: the tensor has one part in 800."""
    turned = {**TENSORS, "head.weight": (0.04, 0.0, 0.024, 0.0, -0.032, 0.0)}
    gates = replace(GATES, direction=0.04)
    (text,) = said(case(gates=gates), case(made(tensors=turned), label="flaky", gates=gates))
    assert text.startswith("flaky: updates of head.weight after ")
    assert text.endswith(" timed steps off by 0.85 in direction")
    blind = replace(gates, direction=None)
    assert said(case(gates=blind), case(made(tensors=turned), gates=blind)) == []


def test_a_tensor_that_stays_behind_is_told_where_directions_are_not_compared():
    gates = replace(GATES, norm=0.2, direction=None)
    slow = {**TENSORS, "head.weight": tuple(0.3 * one for one in TENSORS["head.weight"])}
    (text,) = said(case(gates=gates), case(made(tensors=slow), label="flaky", gates=gates))
    assert text.startswith("flaky: updates of head.weight after ")
    assert text.endswith(" timed steps went 0.3 times as far")


def test_what_begins_late_is_told_by_its_later_moments():
    turned = made(tensors={**TENSORS, "head.weight": (0.04, 0.0, 0.024, 0.0, -0.032, 0.0)})
    honest = made()
    late = made()
    late.changes = [*honest.changes[:3], *turned.changes[3:]]
    gates = replace(GATES, direction=0.04)
    (text,) = said(case(gates=gates), case(late, label="flaky", gates=gates))
    assert "after 64 timed steps" in text
    early = made(steps=STEPS[:3])
    assert said(case(), case(early)) == []


def test_other_data_are_not_compared():
    """Other data carry parameters elsewhere, but equally far."""
    turned = {name: TENSORS[name][:1] + TENSORS[name][:0:-1] for name in TENSORS}
    other = case(made(tensors=turned, data="8"))
    assert said(case(), other) == []
    assert said(case(), case(made(tensors=turned))) != []


@pytest.mark.parametrize("gates", [GATES, BF16])
@pytest.mark.parametrize("way", [asleep, half])
def test_a_way_of_less_than_half_is_told_whoever_goes_it(gates, way):
    lie, honest = case(made(way), label="flaky", gates=gates), case(gates=gates)
    for found in (said(honest, lie), said(lie, honest)):
        assert any(text.startswith("flaky: since step 16, updates of ") for text in found)
    (text,) = [text for text in said(honest, lie) if "since step 16" in text]
    assert text.endswith("times as far as those of tiny")


@pytest.mark.parametrize("rounding", [0.1, 0.9, 5.0])
@pytest.mark.parametrize("way", [asleep, half])
def test_no_rounding_excuses_it(rounding, way):
    lie, honest = case(made(way), label="flaky", rounding=rounding), case(rounding=rounding)
    doubts, hidden = unlikeness(honest, lie)
    assert any("since step 16" in text for text in doubts)
    assert hidden == []


def test_rounding_excuses_what_goes_as_far():
    """Rounding of 0.9 allows any direction."""
    turned = {name: TENSORS[name][:1] + TENSORS[name][:0:-1] for name in TENSORS}
    lies = case(made(lambda n: 0.7 * due(n), tensors=turned), label="flaky", rounding=0.9)
    doubts, _ = unlikeness(case(rounding=0.9), lies)
    assert doubts == []


@pytest.mark.parametrize("gates", [GATES, BF16])
def test_a_way_that_ends_is_told_without_another_case(gates):
    for rounding in (0.0, 5.0):
        lie = case(made(asleep), label="flaky", gates=gates, rounding=rounding)
        (text,) = said(lie)
        assert text.startswith("flaky: updates of 256 timed steps are ")
    assert said(case(gates=gates)) == []


def test_a_process_that_differs_from_others_of_its_case_is_told():
    found = said(case(made(), made(half, number=1), label="flaky"))
    assert any("times as far as those of another process" in text for text in found)


def test_where_updates_do_not_show_no_way_is_judged():
    blind = replace(GATES, norm=None, direction=None, statistics=None, growth=None)
    assert said(case(gates=blind), case(made(asleep), gates=blind)) == []
