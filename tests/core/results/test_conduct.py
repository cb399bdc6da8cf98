"""What timed processes do outside their blocks, and what others do to them, on made-up data."""

from __future__ import annotations

from dataclasses import fields

import pytest
from evidenced import losses, make_process, make_record

from mbench.machine.standing import CGROUP, CORES, NICE, RUNS, SCHEDULER, STATE, Move
from mbench.machine.usage import Usage
from mbench.results.conduct import misconduct, unchecked, usual
from mbench.results.records import Watched

STEPS = range(10, 170, 10)
EIGHT = [10 * at for at in range(1, 9)]


def case(label="tiny", *, steps=STEPS, threads=1, device="cpu", **of_process):
    made = make_process(losses=losses(steps), **of_process)
    return make_record(made, label=label, threads=threads, device=device)


def told(one, *others):
    return list(misconduct(one, usual([one, *others])))


def used(seconds, cores):
    known = {"seconds": seconds, "worker_cores": cores}
    return Usage(**{one.name: known.get(one.name) for one in fields(Usage)})


def watch(record, *, own=0.9, between=0.01, cores=2, moves=None, busy=1.0):
    """Watch each block: the worker uses `own` CPU seconds in it, and `between` after it."""
    clock = 0.0
    for process in record.processes.values():
        for at, block in enumerate(process.blocks):
            process.watched.append(
                Watched(block=block, host="", cores=cores, pace=None, memory_pace=None,
                        usage=used(1.0, busy), worker_seconds=(clock, clock + own),
                        moves=(moves or {}).get(at, []))
            )  # fmt: skip
            clock += own + between
    return record


@pytest.mark.parametrize(
    ("looked", "of_other", "read", "said"),
    [
        ((0.3, 0.001), (0.001, 0.001), 0, ""),  # a busy machine: the processor time is small
        ((0.001, 0.3), (0.001, 0.001), 0, ""),  # threads that spin
        ((0.3, 0.3), (0.001, 0.001), 0, "tiny: 0.3 s of work continued after synchronize"),
        ((0.06, 0.06), (0.001, 0.001), 0, "tiny: 0.06 s of work continued after synchronize"),
        ((0.3, 0.3), (0.12, 0.12), 0, ""),  # reading is slow in others, too
        ((0.3, 0.3), (0.001, 0.001), 2 * 10**8, "tiny: 0.3 s of work"),  # others read less
        ((0.3, 0.3), None, 0, "tiny: 0.3 s of work continued after synchronize"),
        ((0.3, 0.3), None, 4 * 10**7, ""),
        ((0.03, 0.03), None, 0, ""),
    ],
)
def test_a_look_is_not_slow(looked, of_other, read, said):
    one = case(looked=looked[0], look_cpu=looked[1], read_bytes=read)
    others = []
    if of_other:
        others = [case("other", looked=of_other[0], look_cpu=of_other[1], read_bytes=1000)]
    found = told(one, *others)
    assert [text.startswith(said) for text in found] == [True] * bool(said)


def test_both_may_be_slow_to_read_as_much():
    size = {"looked": 0.4, "look_cpu": 0.4, "read_bytes": 2 * 10**8}
    assert told(case(**size), case("other", **{**size, "looked": 0.05, "look_cpu": 0.05})) == []


@pytest.mark.parametrize(("looked", "said"), [(0.09, []), (0.3, ["continued after synchronize"])])
def test_on_a_device_a_look_is_judged_by_what_is_waited(looked, said):
    one = case(looked=looked, look_cpu=0.001, device="cuda")
    found = told(one, case("other", device="cuda", looked=0.01))
    assert [any(word in text for word in said) for text in found] == [True] * len(said)


def test_less_than_eight_blocks_say_nothing():
    slow = {"looked": 0.5, "look_cpu": 0.5}
    assert told(case(steps=EIGHT[:7], **slow)) == []
    assert told(case(steps=EIGHT, **slow))


@pytest.mark.parametrize(
    ("between", "of_other", "said"),
    [
        (0.01, 0.01, ""),
        (0.3, 0.01, "tiny: it used 0.3 s of processor time between blocks"),
        (0.3, 0.11, ""),
        (0.3, None, ""),  # it is not known what is usual
    ],
)
def test_nothing_works_between_blocks(between, of_other, said):
    one = watch(case(look_cpu=0.001), between=between)
    others = [watch(case("other", look_cpu=0.001), between=of_other)] if of_other else []
    found = told(one, *others)
    assert [text.startswith(said[:20]) for text in found] == [True] * bool(said)
    assert all("work was left until after the clock" in text for text in found)


def test_steps_that_are_not_timed_may_be_made_between_blocks():
    steps = range(20, 340, 20)  # ten timed, ten others
    leads = watch(case(steps=steps, look_cpu=0.001), between=0.9)
    assert told(leads, watch(case("other", look_cpu=0.001))) == []


@pytest.mark.parametrize(
    ("cores", "threads", "said"),
    [
        (1.0, 1, ""),
        (1.25, 1, ""),
        (2.0, 2, ""),  # pools that spin
        (1.9, 1, "tiny: it used 1.9 cores where 1 thread had been asked for"),
        (2.5, 2, "tiny: it used 2.5 cores where 2 threads had been asked for"),
    ],
)
def test_more_cores_than_were_asked_for(cores, threads, said):
    assert "".join(told(watch(case(threads=threads), busy=cores))) == said


def test_fewer_cores_than_others_may_use():
    one, other = watch(case(threads=2), cores=1), watch(case("other", threads=2), cores=2)
    assert told(one, other) == ["tiny: it could use 1 core where others could use 2"]
    assert told(other, one) == []
    assert told(*[watch(case(label, threads=4), cores=2) for label in "ab"]) == []


MOVES = (
    (CORES, "0,1", "0", "was moved to 1 rather than 2 cores"),
    (CORES, "0", "1", "was moved to 1 other core"),
    (NICE, "0", "10", "was given the nice value 10 instead of 0"),
    (SCHEDULER, "normal", "idle", "was given the scheduling policy idle instead of normal"),
    (CGROUP, "0::/a", "0::/b", "was put into another cgroup"),
    (STATE, RUNS, "stopped", "was stopped"),
)


@pytest.mark.parametrize(("what", "was", "now", "said"), MOVES)
def test_what_others_change_is_said_by_name(what, was, now, said):
    move = Move(pid=1, what=what, was=was, now=now, threads=3, within=True)
    rival = watch(case("tf"), moves={6: [move]})
    assert told(rival, case("liar")) == [f"process 1 of tf {said} during block 7"]
    before = Move(pid=1, what=what, was=was, now=now, threads=3, within=False)
    twice = watch(case("tf"), moves={0: [before], 3: [move]})
    assert told(twice) == [f"process 1 of tf {said} before block 1, and 1 more time"]


def test_who_runs_again_is_no_news():
    move = Move(pid=1, what=STATE, was="stopped", now=RUNS, threads=1, within=False)
    assert told(watch(case(), moves={2: [move]})) == []


def test_what_could_not_be_checked_is_said():
    assert list(unchecked(case(steps=EIGHT), highest=1e12)) == []
    few = case(steps=EIGHT[:3])
    assert list(unchecked(few, highest=None)) == [
        "its clock (3 of 8 rounds needed)",
        "its speed against the machine's peak (--mfu)",
    ]
