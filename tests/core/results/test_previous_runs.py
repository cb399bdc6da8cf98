"""What earlier runs say about the same two cases."""

from __future__ import annotations

import re

import pytest

from mbench.results.previous_runs import MOST_RATIOS, past_ratios, past_set_seconds
from mbench.results.run import load_run
from mbench.results.summary import analyse

ONE = [[1.0, 1.1], [1.2, 1.0], [1.1, 1.1]]
TWO = [[2.0, 2.1], [2.3, 2.0], [2.2, 2.0]]
BOTH = {"tiny": ONE, "flaky": TWO}


def ratio(folder):
    (one,) = analyse(load_run(folder)).to_json()["comparisons"]
    return one


def test_a_run_is_held_against_the_one_before(write_run):
    before, now = write_run(seconds=BOTH), load_run(write_run(seconds=BOTH))
    (found,) = past_ratios(now)
    then = ratio(before)
    assert (found.run, found.started) == (before.name, load_run(before).header.started)
    assert (found.ratio, found.low, found.high) == (then["ratio"], then["low"], then["high"])
    assert (found.baseline, found.case, found.process_pairs) == (0, 1, 3)


def test_frameworks_named_in_another_order_are_the_same_two(write_run):
    before = ratio(write_run(seconds={"flaky": TWO, "tiny": ONE}))
    (found,) = past_ratios(load_run(write_run(seconds=BOTH)))
    assert found.ratio == pytest.approx(1 / before["ratio"])
    assert (found.low, found.high) == (1 / before["high"], 1 / before["low"])


def test_of_all_pairs_those_that_were_there_are_found(write_run):
    write_run(seconds={"flaky": TWO, "tiny": ONE})
    now = load_run(write_run(seconds={"tiny:threads=3": ONE, "tiny": ONE, "flaky": TWO}))
    assert [(found.baseline, found.case) for found in past_ratios(now)] == [(1, 2)]


@pytest.mark.parametrize(
    ("now", "alike", "reverse"),
    [(("tiny", "tiny", "flaky"), (0, 1), ()), (("tiny", "flaky", "tiny"), (0, 2), (1, 2))],
)
def test_each_pair_of_a_framework_given_twice_is_held_once_against_each_run(
    write_run, now, alike, reverse
):
    of_each = {"tiny#1": ONE, "tiny#2": ONE, "flaky": TWO}
    once = write_run(seconds=BOTH)
    twice = write_run(seconds=of_each, frameworks=("tiny", "tiny", "flaky"))
    told = list(past_ratios(load_run(write_run(seconds=of_each, frameworks=now))))
    found = {(one.run, one.baseline, one.case): one.ratio for one in told}
    assert len(told) == len(found)
    then, unlike = ratio(once)["ratio"], {(0, 1), (0, 2), (1, 2)} - {alike}
    expected = {pair: 1 / then if pair == reverse else then for pair in unlike}
    assert found == pytest.approx(
        {(run.name, *pair): value for run in (once, twice) for pair, value in expected.items()}
        | {(twice.name, *alike): 1.0}
    )


@pytest.mark.parametrize(
    "other",
    [
        {"version": "1.3"},
        {"system": {"hostname": "elsewhere"}},
        {"system": {"variables": {"OMP_NUM_THREADS": "1"}}},
        {"precision": ("bf16",)},
        {"threads": 3},
        {"steadiness": ("steady",)},
        {"seconds": {"tiny": ONE[:2], "flaky": TWO[:2]}},  # no interval
        {"seconds": {"tiny": ONE}},
    ],
)
def test_what_differs_tells_nothing(write_run, other):
    write_run(**{"seconds": BOTH, **other})
    assert list(past_ratios(load_run(write_run(seconds=BOTH)))) == []


def test_a_run_without_proofs_begins_no_history(write_run, proven):
    """Otherwise `--no-verify` would be a way to get rid of earlier runs."""
    write_run(seconds=BOTH, proofs=dict.fromkeys(BOTH, proven.yes))
    (found,) = past_ratios(load_run(write_run(seconds=BOTH)))
    assert found.process_pairs == 3


def test_unequal_work_tells_nothing(write_run, proven):
    write_run(seconds=BOTH, proofs={"tiny": proven.yes, "flaky": proven.no})
    assert list(past_ratios(load_run(write_run(seconds=BOTH)))) == []


def test_a_variable_that_tunes_nothing_begins_no_history(write_run):
    def tuning(variables):
        return {name: value for name, value in variables.items() if name.startswith("OMP_")}

    write_run(seconds={"tiny": ONE, "flaky:X=1": TWO})
    write_run(seconds={"tiny": ONE, "flaky:OMP_WAIT_POLICY=passive": TWO})
    now = load_run(write_run(seconds=BOTH))
    assert len(list(past_ratios(now))) == 0
    assert len(list(past_ratios(now, tuning=tuning))) == 1


def test_so_many_of_the_latest_runs_are_told(write_run):
    runs = [write_run(seconds=BOTH) for _ in range(MOST_RATIOS + 3)]
    now = load_run(runs[-1])
    found = [one.run for one in past_ratios(now)]
    others = [run.name for run in runs if run.name != now.id]
    assert found == others[::-1][:MOST_RATIOS]


def test_a_run_that_began_later_is_no_earlier_one(write_run):
    """As when an older run is resumed."""
    now, later = write_run(seconds=BOTH), write_run(seconds=BOTH) / "run.jsonl"
    later.write_text(re.sub('"started":"[^"]+"', '"started":"2999-01-01"', later.read_text()))
    assert list(past_ratios(load_run(now))) == []


def test_a_renamed_folder_is_still_before_what_began_later(write_run):
    now = write_run(seconds=BOTH)
    write_run(seconds=BOTH)
    renamed = now.rename(now.with_name("0-renamed"))
    assert list(past_ratios(load_run(renamed))) == []


def test_a_run_that_cannot_be_read_is_passed_over(write_run):
    broken, before = write_run(seconds=BOTH), write_run(seconds=BOTH)
    (broken / "run.jsonl").write_text("{}\n")
    (found,) = past_ratios(load_run(write_run(seconds=BOTH)))
    assert found.run == before.name


def test_what_a_set_took_is_told_by_the_latest_run_of_the_same_cases(write_run):
    two = {"tiny": [[0.1]], "flaky": [[0.1]]}
    made = [write_run(seconds=two, set_seconds=70.0), write_run(seconds=two, set_seconds=50.0),
            write_run(seconds={"tiny": [[0.1]]}, set_seconds=9.0)]  # fmt: skip
    folder = made[0].parent
    _, both, alone = (load_run(one.rename(folder / f"2026010{at}")) for at, one in enumerate(made))
    pair = [both.identity(case) for case in both.cases.values()]
    assert past_set_seconds(folder, pair[::-1]) == 50.0
    assert past_set_seconds(folder, [alone.identity(alone.cases[0])]) == 9.0
    assert past_set_seconds(folder, pair[1:]) is None
