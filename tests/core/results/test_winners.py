"""No winner is named that may be due to an interruption, or to what lasts for a run."""

from __future__ import annotations

import pytest

from mbench.results.previous_runs import past_ratios
from mbench.results.run import load_run
from mbench.results.summary import analyse

SLOW = [[1.0, 1.01], [1.02, 1.0], [1.01, 1.01]]


def times(factor):
    return [[second * factor for second in rounds] for rounds in SLOW]


def judged(run):
    (found,) = analyse(run).comparisons
    return found


@pytest.mark.parametrize("status", ["interrupted", None])
def test_an_interrupted_run_names_no_winner(write_run, status):
    both = {"tiny": times(2), "flaky": SLOW}
    assert judged(load_run(write_run(seconds=both))).verdict == "faster"
    found = judged(load_run(write_run(seconds=both, status=status, end=None)))
    assert found.verdict == "undetermined"
    assert found.undetermined == "faster so far, but the run did not end as planned"
    assert found.low > 1, "its interval is shown all the same"


def test_what_was_finished_before_it_keeps_its_winner(write_run):
    both = {"tiny": times(2), "flaky": SLOW}
    assert judged(load_run(write_run(seconds=both, status="interrupted"))).verdict == "faster"


def held_against_earlier(folder):
    """How many earlier runs there are, and the comparison once it takes them into account."""
    run = load_run(folder)
    found = list(past_ratios(run))
    for one in found:
        run.take(one)
    return len(found), judged(run)


def test_from_three_runs_on_all_of_them_name_the_winner(write_run):
    for factor in (0.8, 1.2):  # of the same two cases: what lasts for a run is more than noise
        write_run(seconds={"tiny": times(factor), "flaky": SLOW})
    earlier, found = held_against_earlier(write_run(seconds={"tiny": times(1.3), "flaky": SLOW}))
    assert earlier == 2
    assert found.low > 1
    assert found.verdict == "undetermined"
    assert found.undetermined.startswith("faster in this run, but not over all 3 runs of both")


def test_runs_that_agree_name_it(write_run):
    for factor in (1.28, 1.31):
        write_run(seconds={"tiny": times(factor), "flaky": SLOW})
    earlier, found = held_against_earlier(write_run(seconds={"tiny": times(1.3), "flaky": SLOW}))
    assert earlier == 2
    assert found.verdict == "faster"


def test_one_earlier_run_decides_nothing(write_run):
    write_run(seconds={"tiny": times(0.8), "flaky": SLOW})
    earlier, found = held_against_earlier(write_run(seconds={"tiny": times(1.3), "flaky": SLOW}))
    assert (earlier, found.verdict) == (1, "faster")
    assert found.past[0].contradicts
