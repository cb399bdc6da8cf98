"""The cost of reading a run grows as the run does, and no faster: work is counted, not timed."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace

import pytest
from support.experiments import asked
from support.large_runs import write_large_run

from mbench.reports.differences import FORMATS as FORMATS_OF_DIFF
from mbench.reports.formats import csv, details, html, json, markdown, table
from mbench.reports.junit import junit
from mbench.results.comparisons import ALL_PAIRS_UP_TO
from mbench.results.difference import differ
from mbench.results.run import load_run
from mbench.results.summary import analyse
from mbench.spec.planning import plan


def calls_of(work):
    """How often each Python function is called by `work`; each turn of a generator counts."""
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
    """A function that does all that `mbench show` does for a run."""

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
    shown(write_large_run(tmp_path, **fixed, **{what: 30}))()  # imports modules, fills caches
    calls = [
        sum(calls_of(shown(write_large_run(tmp_path, **fixed, **{what: size}))).values())
        for size in (100, 200, 400)
    ]
    assert calls[1] < 2.5 * calls[0]
    assert calls[2] < 2.5 * calls[1]


FORMATS = {
    "details": details, "markdown": markdown, "csv": csv, "json": json, "html": html,
    "junit": junit,
    "diff": lambda of: FORMATS_OF_DIFF["table"](differ(of, of, fail_if_slower=0.05)),
}  # fmt: skip


@pytest.fixture(scope="module", params=["cases", "comparisons"])
def summaries(request, tmp_path_factory):
    """Summaries of runs of 30, 60, 120 and 240 cases or comparisons."""
    folder = tmp_path_factory.mktemp("results")
    fixed = {"processes": 3} | ({"cases": 2} if request.param == "comparisons" else {})
    return [analyse(load_run(write_large_run(folder, **fixed, **{request.param: size})))
            for size in (30, 60, 120, 240)]  # fmt: skip


@pytest.mark.parametrize("format_", FORMATS)
def test_so_does_the_work_of_each_report(format_, summaries):
    calls = [sum(calls_of(lambda of=one: FORMATS[format_](of)).values()) for one in summaries]
    assert calls[2] < 2.5 * calls[1]
    assert calls[3] < 2.5 * calls[2]


def test_so_does_the_work_of_planning_sweeps(plugins):
    def planned(count):
        experiment = asked(frameworks=("tiny",), wanted={"model": ("tiny-model",)})
        (sweep,) = experiment.sweeps
        return lambda: plan(replace(experiment, sweeps=(sweep,) * count), plugins)

    planned(10)()
    few, more = (sum(calls_of(planned(count)).values()) for count in (100, 400))
    assert few < more < 4.5 * few
    assert more / 400 < 1000, "calls of functions for a sweep, of which 5,000 take 2 s"


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
