"""Updates as operators, named as users name them, are proven; lies about them are found."""

from __future__ import annotations

import re

import pytest
from comparing import compare, documents, verify

pytestmark = pytest.mark.usefixtures("surroundings")

BOTH = ("--models", "op:sgd/5000,op:adamw/5000", "--mode", "train")
ONE = ("--models", "op:sgd/20000", "--mode", "train", "--batch-size", "4")
QUICK = ("--processes", "1", "--rounds", "2", "--threads", "1", "--block", "0.05", "--no-mfu",
         "--format", "json")  # fmt: skip


def test_updates_are_proven_in_float64_and_as_they_are_timed():
    code, proofs = verify("tiny", *BOTH)
    assert code == 0
    assert len(proofs) == 2
    for proof in proofs:
        found = [(one["check"], one["error"]) for one in proof["proof"]["findings"]]
        assert [check for check, _ in found] == [
            "parameters", "optimizer", "optimizer", "parameters", "rule", "rule",
        ]  # fmt: skip
        assert all(error < 1e-12 for check, error in found if check == "optimizer")


@pytest.mark.parametrize("model", ["op:sgd/5000", "op:adamw/5000"])
@pytest.mark.parametrize("lie", ["frozen", "no-decay"])
def test_a_lie_about_an_update_is_told(lie, model):
    code, (proof,) = verify("flaky", "--models", model, "--mode", "train", "--precision", "fp64",
                            fault=lie)  # fmt: skip
    assert code == 1
    failed = [one for one in proof["proof"]["findings"] if not one["passed"]]
    assert {one["check"] for one in failed} == {"optimizer"}
    assert all(one["where"].startswith("change of calls.") for one in failed)


def test_updates_are_compared_like_models():
    result = compare("tiny", "flaky", *BOTH, *QUICK)
    assert result.returncode == 0, result.stderr
    document, _ = documents(result)
    for case in document["cases"]:
        assert case["equal_work"]["proven"]
        assert case["doubts"] == []
        per_call = case["operator"]["bytes_per_second"] / case["throughput"]["value"]
        numbers = 5 if case["model"].startswith("op:sgd") else 7
        assert per_call == pytest.approx(numbers * 4 * 5000)


@pytest.mark.parametrize("lie", ["second", "forty"])
def test_an_update_that_is_not_made_while_it_is_timed_shows(lie):
    """One lie leaves out every second update, the other all after the first forty."""
    result = compare("tiny", "flaky", *ONE, *QUICK, "--no-verify", fault=lie)
    document, _ = documents(result)
    (comparison,) = document["comparisons"]
    assert comparison["verdict"] is None
    assert re.search("no verdict: .*(lie apart|predict|off by)", comparison["reason"])


def test_an_update_infers_nothing():
    result = compare("tiny", "tiny", "--models", "op:sgd/500", "--mode", "inference", *QUICK)
    _, cases = documents(result)
    assert cases["tiny#1"]["outcome"] == "unsupported"
    assert cases["tiny#1"]["reason"] == "op:sgd/500 only updates: use --mode train"
