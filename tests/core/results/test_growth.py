"""The cost of reading a run grows as the run does, and no faster: work is counted, not timed."""

from __future__ import annotations

import sys
from collections import Counter

import pytest
from support.large_runs import write_large_run

from mbench.reports.formats import table
from mbench.results.comparisons import ALL_PAIRS_UP_TO
from mbench.results.run import load_run
from mbench.results.summary import analyse


def calls_of(work):
    """How often each function of mbench is called meanwhile, generators and their turns too."""
    counted: Counter[str] = Counter()

    def count(frame, event, _):
        if event == "call":
            counted[frame.f_code.co_name] += 1

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return counted


def shown(run):
    """All that `mbench show` computes."""

    def work():
        table(analyse(load_run(run)))

    return work


@pytest.mark.parametrize(
    ("what", "fixed"),
    [
        ("cases", {"processes": 0}),
        ("cases", {"processes": 3}),
        ("comparisons", {"cases": 2, "processes": 3}),
        ("processes", {"cases": 2}),
        ("rounds", {"cases": 2, "processes": 3, "steps": 5}),
    ],
)
def test_the_work_of_showing_a_run_grows_no_faster_than_the_run(what, fixed, tmp_path):
    shown(write_large_run(tmp_path, **fixed, **{what: 30}))()  # imports, and what is cached
    calls = [
        sum(calls_of(shown(write_large_run(tmp_path, **fixed, **{what: size}))).values())
        for size in (100, 200, 400)
    ]
    assert calls[1] < 2.5 * calls[0]
    assert calls[2] < 2.5 * calls[1]


def test_what_is_known_of_a_case_is_computed_once(tmp_path):
    run = load_run(write_large_run(tmp_path, cases=20, processes=3))
    counted = calls_of(lambda: analyse(run))
    pairs = 20 * 19 // 2
    assert counted["warming"] == 20
    assert counted["usual_paces"] == 1
    assert counted["unlikeness"] == 20 + pairs


@pytest.mark.parametrize(
    ("cases", "pairs"), [(ALL_PAIRS_UP_TO, 24 * 23 // 2), (ALL_PAIRS_UP_TO + 1, 24), (400, 399)]
)
def test_beyond_a_limit_pairs_are_those_of_the_first_case(cases, pairs, tmp_path):
    found = analyse(load_run(write_large_run(tmp_path, cases=cases))).comparisons
    assert len(found) == pairs
    assert sum(pair.against_first for pair in found) == cases - 1
