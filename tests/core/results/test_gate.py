"""The rule of the gate, and the line that reports the result."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from mbench.results.gate import GatedCase, gate_of, judge, judge_pair


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0.90, 0.96, "failed"),
        (0.90, 0.97, "inconclusive"),  # 3 % slower is not beyond 3 %
        (0.96, 1.10, "inconclusive"),
        (0.97, 1.10, "passed"),
        (0.975, 0.99, "passed"),  # slower for sure, but by no more than is allowed
        (1.10, 1.20, "passed"),
        (None, None, "inconclusive"),
    ],
)
def test_the_whole_interval_lies_beyond_or_excludes_the_slowdown(low, high, said):
    assert judge(low, high, allowance=0.03) == said


def pair(low, high, **more):
    given = {"verdict": "no difference shown", "ended": None, "equal_work": "proven", **more}
    made = SimpleNamespace(**{"low": low, "high": high, "believable": True, **given})
    return judge_pair(made, allowance=0.03)


def test_two_frameworks_of_a_run():
    assert pair(0.8, 0.9, verdict="slower") == ("failed", "slower")
    assert pair(0.99, 1.01) == ("passed", "")
    assert pair(0.5, 1.5) == ("inconclusive", "not precise enough")
    assert pair(None, None, verdict=None) == ("inconclusive", "not comparable")
    assert pair(None, None, verdict=None, ended=1) == ("failed", "not measured")
    assert pair(1.1, 1.2, verdict="faster", equal_work="not proven") == (
        "failed", "not proven equal",
    )  # fmt: skip


def test_a_failure_holds_together_with_all_other_verdicts_of_the_run():
    assert pair(0.8, 0.9, verdict="undetermined") == ("inconclusive", "not precise enough")


def test_an_interval_that_stalls_or_disturbances_decide_says_nothing():
    assert pair(0.99, 1.01, verdict="depends on stalls")[0] == "inconclusive"
    assert pair(0.99, 1.01, verdict="undetermined", believable=False)[0] == "inconclusive"
    assert pair(0.99, 1.01, verdict="undetermined", believable=True)[0] == "passed"


BAD = ("failed", "slower")
GONE = ("failed", "not measured")
GOOD = ("passed", "")
OPEN = ("inconclusive", "not precise enough")
APART = ("inconclusive", "not comparable")


@pytest.mark.parametrize(
    ("cases", "allow", "code", "line"),
    [
        ([GOOD, GOOD], False, 0, "gate passed: 2 of 2 cases no more than 3 % slower"),
        ([GOOD, BAD, OPEN], True, 1,
         "gate FAILED: 1 of 3 cases slower by more than 3 %, 1 inconclusive"),
        ([BAD, BAD, GONE], False, 1,
         "gate FAILED: 2 of 3 cases slower by more than 3 %, 1 not measured"),
        ([OPEN, OPEN], False, 3, "gate inconclusive: 0 of 2 cases precise enough to see 3 %"),
        ([OPEN, OPEN], True, 3, "gate inconclusive: 0 of 2 cases precise enough to see 3 %"),
        ([GOOD, OPEN], False, 3, "gate inconclusive: 1 of 2 cases precise enough to see 3 %"),
        ([GOOD, OPEN], True, 0,
         "gate passed: 1 of 2 cases no more than 3 % slower, 1 inconclusive, which is allowed"),
        ([GOOD, APART], False, 3, "gate inconclusive: 1 of 2 cases comparable"),
        ([], True, 3, "gate inconclusive: there is no case to judge"),
    ],
)  # fmt: skip
def test_the_line_and_the_exit_code_agree(cases, allow, code, line):
    made = [GatedCase(case=str(at), outcome=outcome, why=why)
            for at, (outcome, why) in enumerate(cases)]  # fmt: skip
    gate = gate_of(made, fail_if_slower=0.03, allow_inconclusive=allow)
    assert (str(gate), gate.exit_code) == (line, code)
