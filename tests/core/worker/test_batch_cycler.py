"""Steps take the batches of a case in turn, and the results of the last step can be looked at."""

from __future__ import annotations

import numpy as np
import pytest
from cases import make_case
from mbench_tiny import TINY

from mbench.contract import wire
from mbench.contract.sketch import MOST_SEEN, sketch, thinned
from mbench.worker.session import Session


@pytest.fixture
def session():
    session = Session()
    session.answer(wire.Start(runtime="mbench_tiny:Runtime", device="cpu", threads=1))
    return session


def look(session, count, **request):
    session.answer(wire.TimeSteps(count=count))
    return session.answer(wire.Look(**request))


def test_batches_come_in_turn_and_are_other_ones(session):
    assert session.answer(wire.Prepare(case=make_case(mode="inference"))).batches == 8
    seen = [look(session, 1) for _ in range(17)]
    assert [one.batch for one in seen] == [*range(8), *range(8), 0]
    assert [one.step for one in seen] == list(range(1, 18))
    answers = [tuple(one.outputs["logits"]) for one in seen]
    assert len(set(answers)) == 8
    assert answers[8:16] == answers[:8]


def test_the_next_step_is_on_the_batch_that_is_asked_for(session):
    session.answer(wire.Prepare(case=make_case(mode="inference")))
    look(session, 3)
    assert isinstance(session.answer(wire.SelectBatch(batch=6)), wire.BatchSelected)
    assert [look(session, 1).batch for _ in range(4)] == [6, 7, 0, 1]
    assert look(session, 16).step == 23


def test_the_first_batch_is_the_proofs(session):
    session.answer(wire.Prepare(case=make_case(mode="inference")))
    seen = look(session, 1)
    observed = session.answer(wire.Observe(seed=0, steps=1))
    assert seen.outputs == observed.steps[0].outputs


def test_changes_are_those_since_parameters_were_loaded(session):
    session.answer(wire.Prepare(case=make_case()))
    start = dict(TINY.parameters(seed=0))
    seen = look(session, 16, changes=True)
    for name, array in session.cycler.prepared.benchmark.parameters():
        assert seen.changes[name] == sketch(name, array, start=start[name])
        assert seen.changes[name][0] > 0
    assert seen.statistics == {}
    assert look(session, 1).changes == {}


def test_loading_begins_anew(session):
    session.answer(wire.Prepare(case=make_case()))
    before = look(session, 11, changes=True)
    assert session.answer(wire.Load()) == wire.Loaded()
    assert look(session, 11, changes=True) == before


@pytest.mark.parametrize("size", [7, MOST_SEEN, 3 * MOST_SEEN, 40 * MOST_SEEN])
def test_of_large_outputs_numbers_from_end_to_end_are_looked_at(size):
    found = thinned(np.arange(size).reshape(1, -1))
    assert len(found) <= MOST_SEEN + 1 or size < 2 * MOST_SEEN
    assert found[0] == 0
    assert size - found[-1] <= size // MOST_SEEN + 1
    assert (found[1] - found[0]) % 2 == 1


def test_looks_at_changes_draw_the_canonical_parameters_once(session, monkeypatch):
    session.answer(wire.Prepare(case=make_case()))
    drawn = []
    initial = type(TINY).initial
    monkeypatch.setattr(
        type(TINY), "initial",
        lambda *given, **more: drawn.append(1) or initial(*given, **more),
    )  # fmt: skip
    found = [look(session, count, changes=True) for count in (1, 3)]
    assert len(drawn) == 2, "of two tensors"
    assert found[1].changes["weight"][0] > found[0].changes["weight"][0] > 0
    session.answer(wire.Load())
    again = look(session, 1, changes=True)
    assert again.changes == found[0].changes
