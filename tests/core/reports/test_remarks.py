"""What reports say besides verdicts: each thing once, for all cases that it is about."""

from __future__ import annotations

from dataclasses import replace

import pytest
from screens import on_screen
from summaries import case, disturbed, summary_of, with_case, with_pair

from mbench.reports.formats import table
from mbench.reports.remark_text import lines
from mbench.reports.remarks import (
    Disturbances,
    Ended,
    FewerThreads,
    Integers,
    MissingPercentiles,
    Remark,
    Scaling,
    Severity,
    of_kind,
    remarks,
)
from mbench.results.case_summary import RankTimes
from mbench.results.evidence import Rounding
from mbench.results.proof import FindingRecord, ProofRecord

LOAD = "other processes used {:.1f} of 2 cores"


def said(summary, *kinds):
    found = of_kind(remarks(summary), *kinds)
    return [str(line) for line in lines(found, cases=len(summary.cases))]


def test_disturbances_of_many_rows_are_one_line_that_says_which(summary):
    made = summary(seconds={"tiny": [[1.0]], "flaky": [[1.0]]}, batch_size=(8, 16))
    for at in range(4):
        made = with_case(made, at, disturbances=[disturbed(LOAD, at + 1, share=0.5 + at / 100)])
    many = "other processes used 1.0 to 4.0 of 2 cores in 50 to 53 % of the rounds"
    assert said(made, Disturbances) == [f"DISTURBED, all 4 cases: {many}"]
    assert said(with_case(made, 2, disturbances=[]), Disturbances) == [
        f"DISTURBED, tiny (batch 8), flaky (batch 8), flaky (batch 16): {many}"
    ]


def test_disturbances_of_other_kinds_and_machines_have_lines_of_their_own(full):
    loads = [disturbed(LOAD, 1.1), disturbed("{:,.0f} bytes were swapped", 5e6, kind="swap"),
             replace(disturbed(LOAD, 1.3), host="b"),
             disturbed("steps still got {:.1f} % faster", 2.0, kind="warm-up")]  # fmt: skip
    assert said(with_case(full, 0, disturbances=loads), Disturbances) == [
        "DISTURBED, tiny: other processes used 1.1 of 2 cores in 50 % of the rounds",
        "DISTURBED, tiny: 5,000,000 bytes were swapped in 50 % of the rounds",
        "DISTURBED, tiny: on b: other processes used 1.3 of 2 cores in 50 % of the rounds",
        "DISTURBED, tiny: steps still got 2.0 % faster",
    ]


def test_a_remark_is_a_value_with_its_weight(full):
    (ended,) = of_kind(remarks(with_pair(full, ended=None)), Ended)
    assert ended == Remark(Severity.FAILURE, ("tiny==1.26",), Ended("oom", "too large"))
    assert said(with_pair(full, ended=None), Ended) == ["tiny==1.26: oom: too large"]
    assert said(full, Ended) == [], "the comparison says it"


def test_cases_that_fell_short_alike_share_a_line(full):
    made = with_case(with_pair(full, ended=None), 0, outcome="oom", reason="too large")
    assert said(made, Ended) == ["tiny, tiny==1.26: oom: too large"]


def test_percentiles_that_cases_lack_are_named_once(full):
    few = full.cases[0].step_time_ms
    assert said(full, MissingPercentiles) == [
        "p99 needs 100 steps, but there are only 20; p99.9 needs 1,000 steps, but there are only 20"
    ]
    made = with_case(full, 1, step_time_ms=replace(few, samples=150, fewest=150))
    assert said(made, MissingPercentiles) == [
        "p99 needs 100 steps, but there are only 20 to 150; "
        "p99.9 needs 1,000 steps, but there are only 20 to 150"
    ]


def devices(scale, rate, *, low=None, high=None, ranks=None, label="tiny"):
    made = case(scale=scale, batch_size=8, rate=rate, ranks=ranks, label=label)
    speed = made.throughput and replace(made.throughput, low=low, high=high)
    return replace(made, throughput=speed)


def scaling(*cases):
    return said(summary_of(*cases), Scaling)


def test_one_device_is_not_spoken_of():
    assert scaling(devices("1x1", 100.0)) == []


def test_several_devices_are_held_against_one_of_the_same_framework():
    ranks = RankTimes(spread=0.002, slowest=[0.5, 0.5])
    (line,) = scaling(
        devices("1x1", 50.0, label="other"), devices("1x1", 100.0, low=90.0, high=110.0),
        devices("1x2", 160.0, low=150.0, high=171.0, ranks=ranks),
    )  # fmt: skip
    assert line.startswith("tiny, ")
    assert "on 1x2 devices: global batch 16; 1.6 times as fast as one device (1.42 .. 1.8)" in line
    assert ", 80 % of the ideal 2; " in line
    assert line.endswith("the slowest rank takes 0.2% longer than the fastest")


def test_without_one_device_there_is_no_speed_up():
    ranks = RankTimes(spread=0.08, slowest=[0.1, 0.0, 0.9, 0.0])
    (line,) = scaling(devices("2x2", 160.0, ranks=ranks))
    assert line.endswith(
        "on 2x2 devices: global batch 32; the slowest rank takes 8.0% longer than the fastest, "
        "rank 2 most often (90% of blocks)"
    )


def test_what_was_not_measured_has_no_line():
    assert scaling(devices("1x1", 100.0), devices("1x2", None)) == []


def test_what_labels_do_not_distinguish_is_named_without_empty_brackets():
    """A scale of one device is not named."""
    one, two = (replace(devices(scale, 100.0), disturbances=[disturbed()])
                for scale in ("1x1", "1x2"))  # fmt: skip
    assert "()" not in on_screen(table(summary_of(one, two)))


def test_what_restricts_the_default_number_of_threads_is_said(full):
    assert said(full, FewerThreads) == []
    because = "the cgroup's quota of 2 CPUs, of 16 cores"
    system = replace(full.system, physical_cores=16, default_threads=2, threads_because=because)
    made = replace(full, system=system)
    assert said(with_case(made, 0, threads=2), FewerThreads) == [f"2 threads: {because}"]
    assert said(with_case(made, 0, threads=4), FewerThreads) == []


def with_precisions(made, *precisions, passed=True):
    """The first cases get these precisions; their integers were checked unless `passed` is None."""
    for at, precision in enumerate(precisions):
        found = [] if passed is None else [
            FindingRecord(check="integers", error=None, gate=0.0, where="", note="", passed=passed)
        ]  # fmt: skip
        proof = ProofRecord(
            proven=True, worst=None, failures=[], findings=found, notes=[], version=""
        )  # fmt: skip
        made = with_case(made, at, precision=precision, equal_work=proof)
    return made


@pytest.mark.parametrize(
    ("precisions", "passed", "expected"),
    [
        (("int8", "int8"), True, "int8 against int8, same integers; how each rounds activations"),
        (("int8", "int8"), False, "int8 against int8, different integers"),
        (("int8", "int8"), None, "int8 against int8; it was not checked whether"),
        (("fp32", "int8"), True, "fp32 against int8: these do not multiply the same numbers"),
    ],
)
def test_what_integers_are_compared_is_said(summary, precisions, passed, expected):
    made = summary(seconds={"tiny": [[1.0]], "flaky": [[1.0]]})
    assert said(made, Integers) == []
    (line,) = said(with_precisions(made, *precisions, passed=passed), Integers)
    assert line.startswith(f"tiny, flaky: {expected}")


def test_how_far_rounding_carries_updates_includes_the_precision_of_parameters(full):
    far = Rounding(answers=1e-6, direction=1e-4, grid=0.03)
    (line,) = said(with_case(full, 0, rounding=far), Rounding)
    assert "rounding alone may make losses differ by 0.0001 % and updates by 3 %" in line
