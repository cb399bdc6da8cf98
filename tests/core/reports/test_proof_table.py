"""The table of proofs."""

from __future__ import annotations

import math
from dataclasses import replace

from screens import on_screen
from summaries import proof_of

from mbench.proofs.judge import CHECKS, CheckResult
from mbench.proofs.locate import Located
from mbench.reports.proof_table import render
from mbench.results.proof import SHOWN

GOOD = [
    CheckResult("parameters", 0.0, 0.0, "all names and shapes"),
    CheckResult("outputs", 2e-15, 1e-9, "output logits"),
    CheckResult("outputs", 3e-15, 1e-9, "output logits"),
    CheckResult("flops", None, 0.05, note="the framework does not count them"),
    CheckResult("timed", 4e-7, 1e-5, "loss of step 2"),
    CheckResult("gradients", 6e-3, 0.3, "direction of the changes from a to b"),
]


def test_a_proof_shows_the_largest_error_of_each_check():
    shown = on_screen(render([proof_of(*GOOD)]))
    header, _, row = shown.splitlines()[:3]
    for check in CHECKS:
        assert check in header
    assert row.split() == [
        "tiny", "m", "train", "fp32", "eager", "0.0e+00", "3.0e-15", "-", "-", "-", "n/a",
        "-", "4.0e-07", "6.0e-03", *["-"] * (len(CHECKS) - 9), "proven",
    ]  # fmt: skip


def test_a_proof_says_where_it_comes_nearest():
    shown = on_screen(render([proof_of(*GOOD)]))
    assert "worst in float64 output logits 3.0e-15; as timed loss of step 2 4.0e-07" in shown


def test_what_is_located_has_a_table_the_nearest_first():
    errors = {"a": 0.5, "b": 1e-15, "c": None, **{f"d{at}": 1.0 for at in range(9)}}
    found = Located("outputs agree once", filled="alike", errors=errors)
    shown = on_screen(render([replace(proof_of(*GOOD), located=found)])).splitlines()
    assert "tiny, m train: outputs agree once" in shown
    at = shown.index("tensor  outputs off by, while it is alike")
    assert [line.split() for line in shown[at + 2 :]] == [
        ["b", "1.0e-15"], ["a", "5.0e-01"], *([f"d{at}", "1.0e+00"] for at in range(6)),
    ]  # fmt: skip


def test_a_proof_without_float64_says_so():
    found = [CheckResult("shown", 4e-7, 1e-5, "output logits of set 3"), *GOOD[-2:]]
    one = proof_of(*found)
    shown = on_screen(render([replace(one, proof=replace(one.proof, grade=SHOWN))]))
    assert shown.splitlines()[2].endswith("shown in fp32")
    assert "worst in fp32 output logits of set 3 4.0e-07; as timed" in shown


def test_a_failure_is_said_in_the_row_and_in_words():
    failed = CheckResult("updates", 0.5, 1e-9, "change of w", "no tensor changed")
    shown = on_screen(render([proof_of(*GOOD, failed, outcome="not-equal", reason="x")]))
    assert "FAILS 5.0e-01" in shown
    assert "not-equal" in shown
    assert "NOT PROVEN, tiny, m train: updates: change of w off by 0.5" in shown
    assert "no tensor changed" in shown


def test_a_failure_without_a_size():
    failed = CheckResult("parameters", math.inf, 0.0, "w is missing")
    shown = on_screen(render([proof_of(failed, outcome="not-equal", reason="x")]))
    assert "FAILS" in shown
    assert "inf" not in shown
    assert "parameters: w is missing" in shown


def test_what_was_not_proven_at_all_says_why():
    shown = on_screen(render([proof_of(outcome="unsupported", reason="no [bold]bf16[/bold] here")]))
    assert "tiny, m train: unsupported: no [bold]bf16[/bold] here" in shown


def test_notes_are_shown():
    shown = on_screen(render([proof_of(*GOOD, notes=["x has no fp64 here: proven under y"])]))
    assert "tiny, m train: x has no fp64 here: proven under y" in shown
