"""Data are drawn when they are needed, the same for all cases, and no batch is used twice."""

from __future__ import annotations

from itertools import pairwise

import pytest

from mbench.contract import wire
from mbench.measure.fresh_data import ENDLESS, MOST_BYTES, Draws, Stream
from mbench.results import events


class Worker:
    def __init__(self, *, kept=4096, batch_bytes=2**20):
        self.answer = wire.Kept(results=kept, batch_bytes=batch_bytes)
        self.asked = []

    def ask(self, message, kind):
        self.asked.append(message)
        return self.answer if isinstance(message, wire.Keep) else wire.Renewed()

    def contents(self):
        """(seed, slot) of each position in the last request, as a worker fills them."""
        message = self.asked[-1]
        chunk = message.first // message.chunk
        return [
            (message.seeds[at // message.chunk - chunk], at % message.slots)
            for at in range(message.first, message.first + min(message.count, message.slots))
        ]


def stream(draws, process=0, *, updates=True, **worker):
    found = Stream(draws, process, Worker(**worker), updates=updates)
    found.begin(8)
    if updates:
        found.loaded()
    return found


def draws(*steps, alone=False):
    found = Draws(alone=alone)
    found.expect(steps)
    return found


def test_so_many_batches_lie_ready_as_the_longest_block_has_steps():
    for steps, size, slots in ((3, 2**20, 8), (40, 2**20, 61), (40, 2**26, 16), (9e9, 1, 512)):
        of = draws(steps, steps / 2)
        stream(of, batch_bytes=size)
        assert of.slots == slots
        assert slots * size <= MOST_BYTES


def test_steps_of_all_cases_have_the_same_data_after_equally_many_wherever_blocks_begin():
    of = draws(40, 10)
    fast, slow = stream(of), stream(of)
    found = {}
    for one, lengths in ((fast, (40, 7, 60, 33)), (slow, (10, 3, 12, 9, 11, 14, 9))):
        done = 0
        for count in lengths:
            one.provide(done, count)
            for at, content in enumerate(one.worker.contents(), start=done):
                assert found.setdefault(at, content) == content
            done += count
    assert len(set(found.values())) == len(found), "no batch is met twice"
    other = stream(of, 1)
    other.provide(0, 40)
    assert not set(other.worker.contents()) & set(found.values()), "nor in another process"


def test_where_nothing_is_learnt_blocks_end_on_the_same_data_however_long_they_are():
    of = draws(40, 10)
    ends, met = [], []
    for one, length in ((stream(of, updates=False), 40), (stream(of, updates=False), 13)):
        for block in range(3):
            one.provide_block(length + block)
            contents = one.worker.contents()
            ends.append(contents[-9:])
            if length == 40:
                met += contents
            one.blocks += 1
    assert ends[:3] == ends[3:]
    assert len(set(met)) == len(met)


def test_of_blocks_longer_than_what_lies_ready_an_epoch_has_one_seed():
    of = draws(5000)
    one = stream(of)
    assert one.chunk == ENDLESS
    one.provide(100, 5000)
    first = one.worker.contents()
    assert len(set(first)) == of.slots
    one.loaded()
    one.provide(100, 5000)
    assert not set(first) & set(one.worker.contents())


@pytest.mark.parametrize(("steps", "first"), [(9, 17), (20, 17), (31, 17), (60, 30), (1000, 500)])
def test_a_late_moment_is_drawn_from_the_second_half_the_same_in_all_cases(steps, first):
    found = set()
    for _ in range(300):
        of = draws(40)
        one, other = stream(of), stream(of)
        found.add(late := one.late(steps))
        assert late == other.late(steps)
        assert first <= late <= max(first, steps)
    assert len(found) > min(10, (steps - first) // 2)


def test_lengths_of_blocks_are_drawn_and_never_more_than_lie_ready():
    of = draws(40)
    stream(of)
    found = {of.steps(40) for _ in range(500)}
    assert min(found) >= 20
    assert max(found) <= 60 <= of.slots
    assert len(found) > 30
    assert {of.steps(1) for _ in range(50)} <= {1, 2}


def test_the_same_steps_are_asked_for_in_all_cases():
    of = draws(1000, 100)
    one, other = stream(of), stream(of)
    ours = {3000 - back for back in one.asked(3000, 1000)}
    theirs = {2900 - back for back in other.asked(2900, 700)}
    assert 10 < len(ours) < 200
    assert {step for step in ours if 2500 < step < 2899} == {s for s in theirs if 2500 < s < 2899}
    short = draws(20, 10)
    assert stream(short).asked(9, 5) == list(range(1, 9)), "all of them where they are few"


def test_of_outputs_one_is_drawn_that_all_cases_have_kept():
    of = draws(100, 40)
    one, other = stream(of, updates=False), stream(of, updates=False, kept=12)
    found = set()
    for number in range(200):
        one.blocks = other.blocks = number
        back = one.asked(500, 80)
        assert back == other.asked(90, 30)
        found |= set(back)
    assert found == set(range(1, 12))


def test_what_is_kept_by_nobody_is_not_asked_for():
    one = stream(draws(100, 40), updates=False, kept=1)
    assert one.asked(100, 100) == []


@pytest.mark.parametrize("mode", ["train", "inference"])
def test_data_of_a_block_are_drawn_after_its_lead(measure, world, mode):
    world.step_seconds = 0.01
    store = measure(processes=2, rounds=3, mode=mode, frameworks=("tiny", "flaky"))
    for label, case in (("tiny", 0), ("flaky", 1)):
        for process in (0, 1):
            blocks = [b for b in store.of(events.Block) if (b.case, b.process) == (case, process)]
            found = [m for of, n, m in world.renewed if (of, n) == (label, process)]
            assert len(found) >= len(blocks)
            if mode == "train":
                assert all(a.first + a.count <= b.first or b.first == 0 for a, b in pairwise(found))
    of_case = [
        {(one.batch, one.step if mode == "train" else 0) for last in store.of(events.Evidence)
         if last.case == case for one in (last, *last.earlier)}
        for case in (0, 1)
    ]  # fmt: skip
    assert len(of_case[0] & of_case[1]) > 6, "the same data were met by both"
    numbers = [last.batch for last in store.of(events.Evidence) if last.case == 0]
    assert len(set(numbers)) == len(numbers), "no block ends on what another ended on"


def test_one_case_alone_has_the_same_data_in_each_process(measure, world):
    world.step_seconds = 0.05
    store = measure(processes=2, rounds=3, mode="inference", frameworks=("tiny",))
    first, other = (
        [one.batch for one in store.of(events.Evidence) if one.process == process]
        for process in (0, 1)
    )
    assert first == other


def test_a_worker_that_keeps_no_results_after_all_ends_its_case(measure, world):
    world.step_seconds = 0.01
    world.nonsense["flaky", wire.Seen] = wire.Seen(step=1, batch=0, loss=4.0)
    store = measure(processes=1, rounds=2, frameworks=("tiny", "flaky"))
    ((case, outcome, _),) = store.outcomes
    assert (case, outcome) == (1, "failed")


def test_every_case_is_looked_at_late_however_few_steps_it_makes(measure, world, monkeypatch):
    world.step_seconds = 0.1  # two or three steps in each block
    asked = []
    monkeypatch.setattr(Stream, "late", lambda _, steps: asked.append(steps) or 57)
    store = measure(processes=1, rounds=25, frameworks=("tiny", "flaky"))
    assert min(asked) >= 16 + 25 * 2
    for case in (0, 1):
        assert 57 in [one.step for one in store.of(events.Changes) if one.case == case]
