"""Notes that say the same are one."""

from __future__ import annotations

import pytest

from mbench.reports.closing import summary_lines
from mbench.reports.merging import all_or, merged
from mbench.reports.remarks import disturbance_lines, outcome_lines, verdict_lines

LOAD = "other processes used {} of 2 cores in {} % of the rounds"


@pytest.mark.parametrize(
    ("notes", "said"),
    [
        ([], []),
        ([("a", "x"), ("b", "y")], [(["a"], "x"), (["b"], "y")]),
        ([("a", "x"), ("b", "y"), ("c", "x")], [(["a", "c"], "x"), (["b"], "y")]),
        ([("a", LOAD.format(1.1, 89)), ("b", LOAD.format(0.9, 100))],
         [(["a", "b"], LOAD.format("0.9 to 1.1", "89 to 100"))]),
        ([("a", "1,200 bytes"), ("a", "900 bytes")], [(["a"], "900 to 1,200 bytes")]),
    ],
)  # fmt: skip
def test_texts_that_differ_in_numbers_alone_are_merged(notes, said):
    assert merged(notes) == said


def test_all_are_counted_and_some_are_named():
    assert all_or(["a", "b"], ["a", "b"]) == "a, b"
    assert all_or(["a", "b", "c"], ["a", "b", "c"]) == "all 3 cases"
    assert all_or(["a", "c"], ["a", "b", "c"]) == "a, c"


def test_disturbances_of_many_rows_are_one_line_that_says_which(document):
    seconds = {"tiny": [[1.0]], "flaky": [[1.0]]}
    made = document(seconds=seconds, batch_size=(8, 16))
    for at, case in enumerate(made["cases"]):
        case["disturbances"] = [{"text": LOAD.format(at + 1, 50 + at)}]
    assert [*map(str, disturbance_lines(made))] == [
        "DISTURBED, all 4 cases: " + LOAD.format("1 to 4", "50 to 53")
    ]
    made["cases"][2]["disturbances"] = []
    assert [*map(str, disturbance_lines(made))] == [
        "DISTURBED, tiny (batch 8), flaky (batch 8), flaky (batch 16): "
        + LOAD.format("1 to 4", "50 to 53")
    ]


def test_a_reason_is_said_once(full):
    (said,) = [line for line in map(str, verdict_lines(full)) if "too large" in line]
    assert said.endswith(
        "tiny==1.26 against tiny, tiny==1.26 against flaky: not compared "
        "(tiny==1.26 is oom: too large)"
    )
    assert outcome_lines(full) == []
    for comparison in full["comparisons"]:
        comparison["reason"] = "no round of both was measured"
    assert outcome_lines(full) == ["tiny==1.26: oom: too large"]


def test_the_last_lines_say_each_comparison_in_the_direction_of_its_sentence(full):
    full["comparisons"][0]["disturbances"] = ["tiny: a load"]
    assert [*map(str, summary_lines(full))] == [
        "tiny (eager) is 1.5 times (1.481 .. 1.514) as fast as flaky (eager), "
        "each as its documentation shows first; equal work: proven; DISTURBED",
        "not compared: tiny==1.26 is oom",
    ]


def test_what_was_interrupted_did_not_fail(full):
    (short,) = (case for case in full["cases"] if case["outcome"] == "oom")
    short |= {"outcome": "failed", "reason": "interrupted before its first round"}
    assert summary_lines(full)[-1] == "not compared: tiny==1.26 was interrupted"


def test_the_last_lines_count_what_is_many(document):
    speeds = {"tiny": [[1.0]] * 3, "flaky": [[2.0], [2.02], [2.0]]}
    made = document(seconds=speeds, batch_size=(1, 2, 4, 8, 16, 32))
    assert [*map(str, summary_lines(made))] == [
        "flaky against tiny in 6 comparisons: 6 slower; equal work NOT PROVEN in 6"
    ]
    few = document(seconds=speeds, batch_size=(1, 2))
    assert [line.partition(": ")[0] for line in map(str, summary_lines(few))] == [
        "tiny-model train, batch 1, fp32, cpu", "tiny-model train, batch 2, fp32, cpu",
        "each runs as its documentation shows first",
    ]  # fmt: skip


def test_where_nothing_was_compared_the_last_lines_are_of_cases(document, full):
    made = document(seconds={"tiny": [[1.0]] * 3})
    assert [*map(str, summary_lines(made))] == ["tiny: 80 samples/s (80 .. 80)"]
    full["comparisons"].clear()
    full["cases"] *= 2
    assert [*map(str, summary_lines(full))] == ["6 cases: 4 ok, 2 oom"]
