"""Times that a worker reports are compared with each other and with what machines can do."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from evidenced import SECOND, losses, make_process, make_record

from mbench.results.clocks import fixed
from mbench.results.figures import timed_steps
from mbench.results.validity import implausible


@pytest.fixture
def told():
    """A function that returns what is implausible on a machine of 1e12 FLOPs a second."""

    def told(process):
        record = make_record(process)
        return list(implausible(record, timed_steps(record), highest=1e12))

    return told


@pytest.mark.parametrize(
    ("times", "said"),
    [
        ({}, ""),
        ({"own": 0.08, "waited": 0.08}, ""),  # MFU 100 %
        ({"own": 0.04, "waited": 0.04}, "tiny: an MFU of 200 %, which is more than this machine"),
        ({"own": 0.25, "waited": 0.28}, ""),  # a busy machine
        ({"own": 0.5, "waited": 1.0}, "tiny: it says 0.5 s where 1 s passed"),
        ({"own": 0.2, "waited": 0.25}, "tiny: it says 0.2 s where 0.25 s passed"),
        ({"own": 0.5, "waited": 0.56, "lead": 1}, ""),  # ten steps, and one before them
        ({"own": 0.5, "waited": 1.06, "lead": 10}, ""),
        ({"own": 0.5, "waited": 0.62, "lead": 1}, "tiny: it says 0.55 s where 0.62 s passed"),
        ({"own": 0.2, "single": 2.9}, ""),  # a device and a host that wait for each other
        ({"own": 0.2, "single": 3.5}, "tiny: a step takes 0.02 s in a block, but 0.07 s"),
        ({"single": 1.9}, ""),  # where steps are long, the host's part is small
        ({"single": 2.1}, "tiny: a step takes 0.1 s in a block, but 0.21 s on its own"),
        # In training it is compared with the warm-up: the fastest of its last steps counts.
        ({"own": 2.0, "warmup": [(1, 0.35)] * 9}, ""),
        (
            {"own": 2.0, "warmup": [(1, 0.37)] * 9},
            "tiny: a step takes 0.2 s in a block, but 0.37",
        ),
        ({"own": 2.0, "warmup": [*[(1, 0.37)] * 8, (1, 0.35)]}, ""),
        ({"own": 2.0, "warmup": [*[(1, 0.9)] * 6, *[(1, 0.2)] * 3]}, ""),
        ({"own": 2.0, "warmup": [(2, 0.9)] * 9}, ""),
    ],
)
def test_what_no_machine_does_is_told(told, times, said):
    process = make_process(losses=losses(range(5, 90, 7)), **times)
    found = told(process)
    assert len(found) == bool(said)
    assert "".join(found).startswith(said)


def test_other_load_now_and_then_is_no_doubt(told):
    late, calm = (make_process(losses=losses(range(5, 90, 7)), waited=w) for w in (3.0, 1.0))
    late.evidence[3:5] = calm.evidence[3:5]
    assert told(late) == [], "eleven of thirteen blocks are late"
    late.evidence[3] = late.evidence[2]
    assert told(late)


def test_few_blocks_are_no_reason_for_doubt(told):
    assert told(make_process(losses=losses(range(5, 50, 7)), waited=3.0, looked=3.0)) == []


def test_the_slow_steps_of_a_beginning_hide_no_later_ones_that_take_no_time(told):
    """As if answers were cached: the mean of all steps stays far below what the machine can do."""
    process = make_process(losses=losses(range(5, 90, 7)), own=10.0)
    for at, (block, seen) in enumerate(process.evidence):
        if at >= len(process.evidence) // 2:
            quick = replace(block, nanoseconds=[SECOND // 1000])
            process.evidence[at] = (quick, replace(seen, waited=SECOND // 1000))
            process.blocks[at] = quick
    (said,) = told(process)
    assert "an MFU of 8e+03 %" in said


def of_lengths(seconds):
    """A case whose blocks have 5 to 15 steps and take `seconds(steps)` each."""
    process = make_process(losses=losses(range(5, 90, 7)))
    counts = [5 + 7 * at % 11 for at in range(len(process.blocks))]
    process.blocks[:] = [
        replace(block, steps=count, nanoseconds=[round(seconds(count) * SECOND)])
        for block, count in zip(process.blocks, counts, strict=True)
    ]
    return make_record(process)


def test_time_is_linear_in_steps():
    noise = random.Random(0)
    assert fixed(of_lengths(lambda steps: 0.1 * steps * noise.uniform(0.9, 1.1))) == ""
    assert fixed(of_lengths(lambda steps: 0.01 + 0.1 * steps)) == "", "messages take a little"


def test_a_part_of_a_block_that_does_not_depend_on_its_steps_is_told():
    said = fixed(of_lengths(lambda steps: 0.5 + 0.05 * steps))
    assert said.endswith("s of a block do not depend on its number of steps")
    assert said.startswith("0.5 of ")


def test_blocks_of_one_length_say_nothing():
    assert fixed(of_lengths(lambda _: 1.0)) != ""
    assert fixed(make_record(make_process(losses=losses(range(5, 90, 7))))) == ""
