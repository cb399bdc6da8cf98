"""Runs and proofs as values."""

from __future__ import annotations

import dataclasses

import pytest

import mbench
from mbench.errors import MbenchError

SECONDS = {
    "tiny": [[0.1] * 3, [0.101] * 3, [0.1] * 3, [0.1] * 3],
    "flaky": [[0.2] * 3, [0.201] * 3, [0.2] * 3, [0.2] * 3],
}


@pytest.fixture
def result(write_run):
    return mbench.read(write_run(seconds=SECONDS))


def test_a_verdict_is_what_reports_say(result):
    (verdict,) = result.verdicts
    (comparison,) = result.document["comparisons"]
    assert verdict.verdict == "slower"
    assert verdict.sentence == "Flaky is 49.9 % slower than Tiny"
    assert f"{verdict.sentence} (" in repr(result)
    assert str(verdict).startswith("tiny-model train, batch 8, fp32, cpu")
    assert (verdict.ratio, verdict.low, verdict.high) == tuple(
        comparison[name] for name in ("ratio", "low", "high")
    )
    assert verdict.pairs == 4
    assert verdict.equal_work == "not checked"
    with pytest.raises(dataclasses.FrozenInstanceError):
        verdict.ratio = 1.0


def test_a_gate_is_one_call(result, write_run):
    (verdict,) = result.verdicts
    assert [verdict.gate(limit) for limit in (0.03, "3%", 0.6)] == ["failed", "failed", "passed"]
    gate = result.gate(0.03)
    assert str(gate) == "gate FAILED: 1 of 1 case slower by more than 3 %"
    assert (gate.outcome, gate.exit_code) == ("failed", 1)
    unsure = mbench.read(write_run(seconds={"tiny": [[0.1]], "flaky": [[0.8]]}))
    assert unsure.verdicts[0].gate(0.03) == "inconclusive"
    assert unsure.gate(0.03).exit_code == 3
    with pytest.raises(mbench.UsageError, match="fail_if_slower: '3' has no unit: write 3%"):
        verdict.gate(3)


def test_ok_is_what_the_exit_code_says(write_run):
    assert mbench.read(write_run(seconds=SECONDS)).ok
    assert not mbench.read(write_run(seconds=SECONDS, status="interrupted")).ok
    assert not mbench.read(write_run(seconds={"tiny": [[0.1]], "flaky": []})).ok


def test_it_is_shown_as_every_report_shows_it(result, tmp_path):
    assert repr(result) == result.report("table")
    assert result.report("csv").startswith("label,framework,")
    assert "tiny" in result.report("markdown", layout="dlperf")
    with pytest.raises(mbench.UsageError, match="unknown format 'tabel'; did you mean table"):
        result.report("tabel")
    assert result.page(tmp_path / "run.html").read_text() == result.report("html")
    with pytest.raises(MbenchError, match=r"cannot write .*nowhere"):
        result.page(tmp_path / "nowhere" / "run.html")


@pytest.mark.extras
def test_cases_are_a_table(result):
    cases = result.cases
    assert list(cases) == result.report("csv").splitlines()[0].split(",")
    assert list(cases.label) == ["tiny", "flaky"]
    assert cases.samples_per_second.dtype == float


def test_without_pandas_the_extra_is_named(result, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(MbenchError, match="extra analysis"):
        result.cases  # noqa: B018
