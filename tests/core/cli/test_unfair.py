"""Untimed work, forged matrix products and hindered rivals, found through the command line."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from comparing import compare, documents

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")

SHORT = ("--models", "tiny-model", "--batch-size", "512", "--processes", "1", "--rounds", "10",
         "--block", "0.02", "--no-verify", "--threads", "1", "--budget", "9999")  # fmt: skip


def told(*arguments, fault):
    """The doubts of each case, by label, and the run's JSON document."""
    result = compare("tiny", "flaky", *SHORT, *arguments, "--format", "json", fault=fault)
    assert result.returncode == 0, result.stderr
    document, cases = documents(result)
    (comparison,) = document["comparisons"]
    doubts = {label: case["doubts"] for label, case in cases.items()}
    if any(doubts.values()):
        assert comparison["ratio"] is None
        assert comparison["reason"] == f"no verdict: {next(filter(None, doubts.values()))[0]}"
    else:  # if the machine is busy, all rounds may be disturbed
        assert "no verdict" not in (comparison["reason"] or ""), comparison
    return doubts, document


def said(doubts, words):
    (found,) = [text for text in doubts if words in text] or [str(doubts)]
    return found


def test_the_honest_are_not_refused(surroundings):
    doubts, document = told("--threads", "1", fault="")
    assert doubts == {"tiny": [], "flaky": []}
    assert all(case["unchecked"] == [] for case in document["cases"])


def test_what_is_not_checked_stands_in_the_report(surroundings):
    result = compare("tiny", "flaky", *SHORT, "--rounds", "2", "--no-mfu", fault="")
    assert "not checked: its clock (2 of 8 rounds needed)" in result.stdout
    assert "its speed against the machine's peak (--mfu)" in result.stdout


def test_work_that_is_left_until_results_are_read(surroundings):
    doubts, _ = told("--no-mfu", fault="deferred")
    assert "of work continued after synchronize" in said(doubts["flaky"], "synchronize")
    assert doubts["tiny"] == []


def test_products_that_take_no_time_are_no_peak(surroundings):
    """Forged products are found either by their proof, as their steps differ, or because they are
    faster than is possible here.
    """
    doubts, document = told(fault="forged")
    (forged,) = [case for case in document["cases"] if case["label"] == "flaky"]
    assert forged["ceiling"]["flops_per_second"] is None
    beyond = any("its matrix products make" in text for text in doubts["flaky"])
    assert beyond or forged["ceiling"]["reason"].startswith("matmul: not-equal"), forged


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one core")
def test_a_rival_on_fewer_cores_is_named(surroundings):
    doubts, _ = told("--no-mfu", "--threads", "2", fault="pinned")
    ways = ("process 1 of tiny was moved to 1 rather than 2 cores",
            "tiny: it could use 1 core where others could use 2")  # fmt: skip
    assert any(text.startswith(ways) for text in doubts["tiny"]), doubts


def test_blocks_of_a_rival_that_is_stopped_now_and_then_do_not_count(surroundings):
    """If the rival is stopped in every block, it has no blocks at all."""
    result = compare("tiny", "flaky", *SHORT, "--block", "0.25", "--no-mfu", fault="paused")
    (path,) = Path("mbench-results").glob("*/run.jsonl")
    written = [json.loads(line) for line in path.read_text().splitlines()]
    cases = {one["case"]: one["label"] for one in written if one["event"] == "case"}
    stops = [one for one in written if one["event"] == "absence" and one["case"] in cases]
    assert "tiny" in {cases[one["case"]] for one in stops}, result.stderr
    # On a busy machine both may be away for a while; only the rival is stopped again and again.
    assert {cases[one["case"]] for one in stops if one.get("times")} <= {"tiny"}
    assert "a worker was stopped" in result.stderr
