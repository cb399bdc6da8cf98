"""Lies told only while a case is timed: the proof passes, but `mbench compare` reports each lie."""

from __future__ import annotations

import re

import pytest
from comparing import compare, documents

BRIEF = ["--models", "tiny-model", "--processes", "1", "--rounds", "8", "--block", "0.15"]
BRIEF += ["--threads", "1", "--format", "json"]


@pytest.mark.parametrize(
    ("lie", "mode", "said"),
    [
        ("memo", "inference", "flaky: output logits of batch |flaky: an MFU of "),
        ("stale", "inference", "flaky: output logits of batch "),
        ("forty", "train", "flaky: loss of batch |flaky: updates"),
        ("second", "train", "off by "),
        ("half", "train", "the first losses as timed lie apart"),
        # The work left over goes on while the worker answers, so either clock may reveal it.
        (
            "hasty",
            "train",
            "of work continued after|flaky: it says |flaky: loss of ",
        ),
        ("clock", "train", "flaky: it says "),
        ("merged", "inference", " on its own|flaky: output logits of batch "),
    ],
)
def test_a_lie_of_the_timed_process_is_told_by_name(surroundings, lie, mode, said):
    probed = "--mfu" if lie == "memo" else "--no-mfu"
    size = "2048" if lie == "merged" else "64"  # a step that takes longer than reading the clock
    result = compare(
        "--frameworks", "tiny,flaky", *BRIEF, "--mode", mode, "--batch-size", size, probed,
        *(("--block", "0.5") if lie == "hasty" else ()),  # more is left to do than in any stall
        fault=lie,
    )  # fmt: skip
    document, cases = documents(result)
    assert cases["flaky"]["outcome"] == "ok", cases["flaky"]["reason"]
    assert cases["flaky"]["equal_work"]["proven"], "or it would be no lie of the timed process"
    assert cases["tiny"]["doubts"] == []
    (comparison,) = document["comparisons"]
    assert comparison["verdict"] is None
    assert comparison["equal_work"] == "not proven"
    assert comparison["reason"].startswith("no verdict: ")
    assert re.search(said, comparison["reason"])


@pytest.mark.parametrize(
    ("lie", "mode", "said"),
    [
        ("replay", "train", "flaky: (loss of batch|updates)"),
        ("replay-ends", "train", "flaky: (loss of batch|updates)"),
        ("trunk-reuse", "train", "flaky: (loss of batch|updates)"),
        ("last-layer", "train", "flaky: updates, by "),
        ("sleeper", "train", "flaky: (loss of batch|updates)"),
        ("memo-paced", "inference", "flaky: output logits of batch "),
    ],
)
def test_what_was_remembered_is_told_since_no_batch_comes_again(surroundings, lie, mode, said):
    """These lies are honest in the first steps after parameters are loaded, but are still found."""
    result = compare(
        "--frameworks", "tiny,flaky", *BRIEF, "--mode", mode, "--batch-size", "2048", "--block",
        "0.05", "--rounds", "4", "--no-mfu", fault=lie,
    )  # fmt: skip
    document, cases = documents(result)
    assert cases["flaky"]["outcome"] == "ok", cases["flaky"]["reason"]
    assert cases["flaky"]["equal_work"]["proven"], "or it would be no lie of the timed process"
    assert cases["tiny"]["doubts"] == []
    (comparison,) = document["comparisons"]
    assert comparison["verdict"] is None
    assert re.search(said, comparison["reason"]) or any(
        re.search(said, doubt) for doubt in cases["flaky"]["doubts"]
    ), comparison["reason"]


def test_a_remembered_proof_is_not_the_last_word(surroundings):
    """No adapter names the variable FLAKY, which changes the work: an earlier proof is reused."""
    both = "--frameworks", "tiny,flaky", *BRIEF, "--no-mfu"
    compare(*both, "--rounds", "1")
    document, cases = documents(compare(*both, fault="frozen"))
    assert cases["flaky"]["equal_work"]["proven"], "or it was not remembered"
    (comparison,) = document["comparisons"]
    assert (comparison["verdict"], comparison["equal_work"]) == (None, "not proven")
    # Whether the updates or the losses are reported first depends on the lengths of the blocks.
    assert comparison["reason"].startswith("no verdict: flaky: ")
    assert cases["tiny"]["doubts"] == []
