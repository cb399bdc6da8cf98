"""Interleaved measurement, with workers that record what is done to them, in order."""

from __future__ import annotations

import re
from itertools import pairwise
from operator import attrgetter

import pytest

from mbench.contract import wire
from mbench.engine.outcome import CaseEnded
from mbench.measure.activity import CaseStopped
from mbench.measure.rounds import Interleaved
from mbench.results import events
from mbench.spec.adaptive import Adaptive


def test_every_round_of_every_set_has_every_case_once(measure):
    store = measure(processes=3, rounds=4)
    order = store.order()
    assert set(order) == {(number, at) for number in range(3) for at in range(4)}
    assert all(sorted(cases) == [0, 1, 2] for cases in order.values())
    (end,) = store.of(events.ComparisonEnd)
    assert end.reason == "all processes measured"


def test_every_set_has_fresh_workers(measure, world):
    store = measure(processes=3, rounds=1)
    assert len(world.workers) == 9
    assert len(store.of(events.Process)) == 9
    assert len(store.of(events.Framework)) == 3


def test_the_order_is_shuffled_anew_each_round_and_by_the_seed(measure):
    orders = [list(measure(processes=4, rounds=12, seed=seed).order().values()) for seed in (0, 1)]
    again = list(measure(processes=4, rounds=12, seed=0).order().values())
    assert orders[0] == again
    assert orders[0] != orders[1]
    for made in orders:
        assert len({tuple(cases) for cases in made}) == 6  # all orders of three
        assert {cases[0] for cases in made} == {0, 1, 2}


def test_no_worker_has_two_turns_in_a_row(measure):
    for frameworks in (("tiny", "flaky"), ("tiny", "flaky", "flaky==1")):
        order = measure(processes=3, rounds=8, frameworks=frameworks).order()
        for number in range(3):
            turns = [case for at in range(8) for case in order[number, at]]
            assert all(one != following for one, following in pairwise(turns))
    assert {order[number, 0][0] for number in range(3)} > {order[0, 0][0]}, "whoever begins"


def test_the_order_of_starting_is_shuffled_too(measure, world):
    measure(processes=12, rounds=1)
    starts = [worker.label for worker in world.workers]
    sets = [tuple(starts[at : at + 3]) for at in range(0, len(starts), 3)]
    assert len(set(sets)) > 1


def test_blocks_are_about_as_long_as_the_protocol_says_and_nobody_foresees_how_long(measure, world):
    world.step_seconds = 0.05
    store = measure(processes=1, rounds=20, block_seconds=2.0)
    steps = [block.steps for block in store.of(events.Block)]
    assert min(steps) >= 20
    assert max(steps) <= 60
    assert len(set(steps)) > 5
    for block in store.of(events.Block):
        assert block.nanoseconds == [block.steps * 50_000_000]
        assert block.each is False


@pytest.mark.parametrize(("step_seconds", "lead"), [(0.02, 5), (0.05, 2), (0.6, 0)])
def test_a_turn_begins_with_steps_that_are_not_timed(measure, world, step_seconds, lead):
    world.step_seconds = step_seconds
    counts = world.counts = []
    store = measure(processes=1, rounds=6, mode="train", frameworks=("tiny", "flaky"))
    about = Adaptive().block_seconds / step_seconds
    steps = [block.steps for block in store.of(events.Block)]
    assert all(about / 2 - 1 <= one <= max(1, 1.5 * about + 1) for one in steps)
    assert counts.count(lead) >= 4 or not lead


def test_rounds_are_as_many_as_pay_once_that_shows(measure, world):
    """Workers differ while their rounds do not, so more rounds would be worth nothing."""
    world.noise = iter([0.1, 0.11] * 20)
    store = measure(
        frameworks=("tiny", "flaky"), processes=6, half_width_goal=0.0001, most_processes=6,
        budget_seconds=1e6,
    )  # fmt: skip
    rounds = [max(at for number, at in store.order() if number == n) + 1 for n in range(6)]
    assert rounds[:2] == [Adaptive().most_rounds] * 2
    assert rounds[3:] == [3, 3, 3]


def test_a_block_is_at_least_one_step(measure, world):
    world.step_seconds = 30.0
    store = measure(processes=1, rounds=1)
    assert {block.steps for block in store.of(events.Block)} == {1}


def test_inference_is_also_timed_step_by_step(measure):
    store = measure(processes=1, rounds=2, mode="inference", frameworks=("tiny", "flaky"))
    blocks = store.of(events.Block)
    assert [block.each for block in blocks] == [False, True] * 4
    assert all(len(b.nanoseconds) == (b.steps if b.each else 1) for b in blocks)


def test_steps_that_take_longer_by_themselves_do_not_make_rounds_endless(measure, world):
    """As in a framework that computes steps only when they are waited for."""
    world.step_seconds, world.single_seconds = 0.00001, 0.1
    store = measure(processes=1, rounds=3, block_seconds=0.5, mode="inference")
    steps = [block.steps for block in store.of(events.Block) if block.each]
    assert steps == [10] * 9


def test_steps_that_take_no_longer_by_themselves_are_as_many_in_either_block(measure, world):
    world.step_seconds = 0.001
    store = measure(processes=1, rounds=3, block_seconds=0.5, mode="inference")
    blocks = store.of(events.Block)
    assert [b.steps for b in blocks if b.each] == [b.steps for b in blocks if not b.each]
    assert all(250 <= block.steps <= 750 for block in blocks)


def test_the_machine_is_watched_during_every_block(measure):
    store = measure(processes=2, rounds=2, mode="inference", frameworks=("tiny", "flaky"))
    blocks, watched = store.of(events.Block), store.of(events.Telemetry)
    of_block = attrgetter("case", "process", "round", "each")
    assert [of_block(w) for w in watched] == [of_block(b) for b in blocks]
    for block, seen in zip(blocks, watched, strict=True):
        before, after = (s.at_nanoseconds for s in seen.samples)
        assert after - before == pytest.approx(sum(block.nanoseconds), rel=1e-6)


def test_warm_up_and_memory_are_written_down(measure):
    store = measure(processes=1, rounds=1)
    for process in store.of(events.Process):
        assert process.prepare_seconds == 0.5
        assert process.warmup_reason == "steady"
        assert process.first_step_nanoseconds == 100_000_000
        assert sum(steps for steps, _ in process.warmup_blocks) >= 10
        assert process.synchronize_nanoseconds == 5000
        assert process.warmup_peak_bytes is None, "the process's own is never set back"
    assert {used.peak_bytes for used in store.of(events.Memory)} == {123}


def test_the_peak_of_the_warm_up_is_written_down_apart(measure, world):
    world.counts_anew = True
    store = measure(processes=1, rounds=1)
    assert {process.warmup_peak_bytes for process in store.of(events.Process)} == {456}
    assert {used.peak_bytes for used in store.of(events.Memory)} == {123}


@pytest.mark.parametrize(("mode", "loss"), [("train", 4.0), ("inference", None)])
def test_the_loss_of_the_very_first_step_is_written_down(measure, mode, loss):
    store = measure(processes=2, rounds=2, mode=mode)
    assert {process.first_loss for process in store.of(events.Process)} == {loss}


@pytest.mark.parametrize("request_", ["launch", "prepare", "run", "look"])
def test_a_case_that_falls_short_leaves_and_the_others_go_on(measure, world, request_):
    world.faults["flaky", 1, request_] = CaseEnded("crashed", "gone")
    store = measure(processes=3, rounds=2)
    assert store.outcomes == [(1, "crashed", "gone")]
    order = store.order()
    assert all(sorted(order[0, at]) == [0, 1, 2] for at in range(2))
    assert all(sorted(order[number, at]) == [0, 2] for number in (1, 2) for at in range(2))
    stopped = [one.label for one in store.listener.heard if isinstance(one, CaseStopped)]
    assert "flaky" in stopped


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (wire.Elapsed(start_nanoseconds=0, nanoseconds=[10**8, 10**8]), "2 durations"),
        (wire.Elapsed(start_nanoseconds=-1, nanoseconds=[10**8]), "block.start"),
        (wire.MemoryUsed(peak_bytes=-1), "memory.peak_bytes"),
        (
            wire.Prepared(seconds=-1.0, differences=[], trainable_parameters=1, batches=8),
            "process.prepare_seconds",
        ),
    ],
)
def test_what_cannot_be_written_down_ends_its_case_and_no_other(measure, world, answer, said):
    world.nonsense["flaky", type(answer)] = answer
    store = measure(processes=2, rounds=2)
    ((case, outcome, reason),) = store.outcomes
    assert (case, outcome) == (1, "failed")
    assert said in reason
    assert {block.case for block in store.of(events.Block) if block.process == 1} == {0, 2}


def test_a_case_that_falls_short_between_rounds_leaves_at_once(measure, world, monkeypatch):
    store = measure_with_fault_in_round(measure, world, monkeypatch, label="tiny", at_round=1)
    order = store.order()
    assert sorted(order[0, 0]) == [0, 1, 2]
    assert [sorted(order[0, at]) for at in (1, 2)] == [[1, 2], [1, 2]]
    assert [number for number, _ in order if number] == [1, 1, 1]
    assert store.outcomes == [(0, "oom", "too much")]
    assert len(store.of(events.Memory)) == 2 + 2


def measure_with_fault_in_round(measure, world, monkeypatch, *, label, at_round):
    slice_of = Interleaved.time_slice

    def faulty(self, runner, number, round_number):
        if runner.entry.label == label and round_number == at_round:
            raise CaseEnded("oom", "too much")
        return slice_of(self, runner, number, round_number)

    monkeypatch.setattr(Interleaved, "time_slice", faulty)
    return measure(processes=2, rounds=3)


def test_nothing_is_left_to_measure(measure, world):
    for label in ("tiny", "flaky"):
        world.faults[label, 0, "prepare"] = CaseEnded("failed", "no")
    store = measure(frameworks=("tiny", "flaky"), processes=3)
    assert len(store.outcomes) == 2
    assert store.of(events.Block) == []
    assert store.of(events.ComparisonEnd)[0].reason == "no case left to measure"


@pytest.mark.parametrize("rounds", [None, 2])
def test_nothing_is_left_to_measure_once_workers_are_warm(measure, world, rounds):
    for label in ("tiny", "flaky"):
        world.faults[label, 0, "keep"] = CaseEnded("failed", "nothing kept")
    store = measure(frameworks=("tiny", "flaky"), processes=3, rounds=rounds)
    assert sorted(store.outcomes) == [(case, "failed", "nothing kept") for case in (0, 1)]
    assert store.of(events.Block) == []
    assert store.of(events.ComparisonEnd)[0].reason == "no case left to measure"


def test_entries_without_an_environment_take_no_part(measure):
    store = measure(without=("flaky",), processes=1, rounds=1)
    assert {block.case for block in store.of(events.Block)} == {0, 2}
    assert store.outcomes == []


def test_no_set_begins_that_would_overrun_the_budget(measure, world):
    world.start_seconds = 10.0
    store = measure(processes=9, rounds=1, budget_seconds=100.0)
    per_set = (world.now - 1000.0) / len({p.process for p in store.of(events.Process)})
    assert world.now - 1000.0 <= 100.0 < world.now - 1000.0 + per_set
    reason = store.of(events.ComparisonEnd)[0].reason
    assert reason == "another set of processes, about 34 s, did not fit into the 100 s"


def test_sets_that_are_made_in_any_case_have_fewer_rounds_and_say_what_they_took(measure, world):
    world.start_seconds = 20.0
    store = measure(processes=3, fewest_processes=3, budget_seconds=120.0)
    assert {number for number, _ in store.order()} == {0, 1, 2}
    assert len(store.order()) == 3 * Adaptive().fewest_rounds
    reason = store.of(events.ComparisonEnd)[0].reason
    took = round(world.now - 1000.0)
    assert took > 180
    assert reason == (f"all processes measured, which took {took} s, longer than the 120 s planned")


def test_three_rounds_are_measured_even_past_the_budget(measure, world):
    store = measure(processes=5, budget_seconds=11.0)
    assert set(store.order()) == {(0, at) for at in range(3)}
    reason = store.of(events.ComparisonEnd)[0].reason
    assert reason == "another set of processes, about 6 s, did not fit into the 11 s"


def test_a_budget_without_a_round_says_what_it_takes(measure, world):
    world.start_seconds = 20.0
    store = measure(processes=5, budget_seconds=30.0)
    assert store.of(events.Block) == []
    assert [outcome for _, outcome, _ in store.outcomes] == ["timeout"] * 3
    (reason,) = {reason for _, _, reason in store.outcomes}
    assert "the budget of 30 s is too small for one round: 2 of 3 workers" in reason
    assert "give --budget 65 for one round, or 330 for 5 processes of 3 rounds" in reason
    assert world.prepared == 2, "the third would be in vain"
    assert store.of(events.ComparisonEnd)[0].reason == "no case left to measure"


@pytest.mark.parametrize(
    ("processes", "reason"),
    [
        (3, r"all processes measured, which took 60\d s, longer than the 100 s planned"),
        (5, "budget of 100 s spent"),
    ],
)
def test_a_budget_too_small_for_another_round_leaves_what_a_continued_run_has(
    measure, world, processes, reason
):
    earlier = measure(processes=2, rounds=3).run
    world.start_seconds = 200.0
    store = measure(processes=processes, rounds=3, budget_seconds=100.0, earlier=earlier)
    assert store.outcomes == []
    assert {number for number, _ in store.order()} == {2}
    assert re.fullmatch(reason, store.of(events.ComparisonEnd)[0].reason)


def test_measuring_goes_on_until_it_is_narrow(measure, world):
    world.noise = iter([0.1, 0.12, 0.1, 0.1, 0.12, 0.1] + [0.1] * 99)
    store = measure(
        frameworks=("tiny", "flaky"), processes=2, rounds=1, half_width_goal=0.1, most_processes=20
    )
    sets = {number for number, _ in store.order()}
    assert 2 < len(sets) < 20
    assert store.of(events.ComparisonEnd)[0].reason.startswith("as narrow as requested, intervals")


def test_measuring_ends_where_it_does_not_get_narrow(measure, world):
    world.noise = iter([0.1, 0.2, 0.3] * 99)
    store = measure(
        frameworks=("tiny", "flaky"), processes=2, rounds=1, half_width_goal=0.001, most_processes=6
    )
    assert len({number for number, _ in store.order()}) == 6
    assert store.of(events.ComparisonEnd)[0].reason.startswith("all processes measured, intervals")


def test_an_interruption_closes_all_workers(measure, world):
    world.faults["flaky", 0, "run"] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        measure(processes=2)
    assert world.workers
    assert all(worker.closed for worker in world.workers)


def test_every_turn_has_the_paces_of_the_machine_before_it(measure, world):
    store = measure(processes=2, rounds=3, mode="inference")
    seen = store.of(events.Telemetry)
    assert [(one.pace, one.memory_pace) for one in seen if not one.each] == [
        (100_001 + at, 3_000_001 + at) for at in range(18)
    ]
    assert {(one.pace, one.memory_pace) for one in seen if one.each} == {(None, None)}


def test_builds_share_the_rounds_of_a_process(measure, world):
    store = measure(processes=2, rounds=6, builds=3, frameworks=("tiny", "flaky"))
    assert len(world.workers) == 4
    assert world.prepared == 4 * 3
    made = store.of(events.Build)
    assert sorted((one.case, one.process, one.round) for one in made) == [
        (case, process, at) for case in (0, 1) for process in (0, 1) for at in (2, 4)
    ]
    assert all(one.prepare_seconds == 0.5 and one.warmup_blocks for one in made)
    blocks = store.of(events.Block)
    assert len(blocks) == 2 * 2 * 6
    assert store.outcomes == []


def test_a_build_that_falls_short_ends_its_case_and_no_other(measure, world):
    world.builds["flaky"] = 1
    store = measure(processes=2, rounds=4, builds=2, frameworks=("tiny", "flaky"))
    assert store.outcomes == [(1, "oom", "not twice")]
    assert len([block for block in store.of(events.Block) if block.case == 0]) == 8
