"""Several runs on a side: each is a replicate; doubts and missing proofs fail the gate."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mbench.engine.outcome import CaseEnded
from mbench.errors import UsageError
from mbench.results.difference import differ
from mbench.results.several import as_one

STEADY = [[1.0, 1.0], [1.01, 1.0], [1.0, 1.02], [1.0, 0.99], [1.01, 1.0]]


@pytest.fixture
def run(summary, proven):
    """A function that returns the summary of a run whose steps take `factor` times as long."""

    def run(factor, *, proof=proven.yes, **more):
        seconds = {"tiny": [[second * factor for second in rounds] for rounds in STEADY]}
        proofs = {"tiny": proof} if proof else None
        return summary(seconds=seconds, proofs=proofs, **more)

    return run


def difference(base, new, **options):
    by_run = max(len(base), len(new)) > 1
    sides = (as_one(side, by_run=by_run) for side in (base, new))
    return differ(*sides, by_run=by_run, fail_if_slower=0.03, **options)


def test_what_lasts_for_a_run_is_no_regression(run):
    """Two single runs would show a regression."""
    base = [run(factor) for factor in (1.0, 1.04, 0.97)]
    new = [run(factor) for factor in (1.05, 0.98, 1.01)]
    alone = difference(base[:1], new[:1])
    assert (alone.replicates, alone.gate.outcome) == ("processes", "failed")
    several = difference(base, new)
    assert (several.replicates, several.gate.outcome) == ("runs", "inconclusive")
    (case,) = several.cases
    assert case.low < 1 < case.high
    assert case.reason.startswith("too noisy to detect a slowdown of 3 %; about ")
    assert case.reason.endswith(" runs on each side would be enough")
    assert several.base == ", ".join(one.run for one in base)


def test_a_slowdown_of_all_runs_is_one(run):
    base = [run(factor) for factor in (1.0, 1.01, 0.99)]
    new = [run(1.2 * factor) for factor in (1.0, 1.01, 0.99)]
    found = difference(base, new)
    assert found.gate.outcome == "failed"
    assert found.cases[0].ratio == pytest.approx(1 / 1.2)


def test_the_processes_of_a_single_run_are_no_substitute_for_several_runs(run):
    """They do not show how runs differ, and would make a regression of this."""
    found = difference([run(factor) for factor in (1.0, 1.01, 0.99)], [run(1.05)])
    assert (found.replicates, found.gate.outcome) == ("runs", "inconclusive")
    assert found.cases[0].low is None
    assert found.cases[0].reason.startswith(
        "too few runs to detect a slowdown of 3 %; about 3 runs"
    )


def test_two_runs_are_too_few(run):
    found = difference([run(1.0), run(1.01)], [run(1.0), run(1.01)])
    assert found.gate.outcome == "inconclusive"
    said = "too few runs to detect a slowdown of 3 %; about 3 runs"
    assert found.cases[0].reason.startswith(said)


def test_a_case_that_one_run_lacks_is_not_measured(run):
    base = [run(1.0) for _ in range(3)]
    found = difference(base, [run(1.0), run(1.0), run(1.0, batch_size=(64,))])
    assert found.gate.outcome == "failed"
    assert found.cases[0].reason == (
        "outcome not-measured in the new run: 1 of 3 runs have no such case"
    )


@pytest.mark.parametrize(
    ("other", "what"), [({"version": "1.3"}, "version"), ({"system": {"cpu": "Xeon"}}, "cpu")]
)
def test_runs_of_a_side_are_of_one_machine_and_version(run, other, what):
    with pytest.raises(UsageError, match=f"differ in {what}: runs of one side must be"):
        as_one([run(1.0), run(1.0), run(1.0, **other)], by_run=True)


@pytest.fixture
def crashed(summary, proven):
    """The summary of a run whose case did not start, so that its version is not known."""
    return summary(
        seconds={"tiny": []}, proofs={"tiny": proven.yes},
        ends={"tiny": CaseEnded("crashed", "gone")},
    )  # fmt: skip


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_case_that_did_not_start_in_one_run_is_not_measured(run, crashed, at):
    new = [run(1.0), run(1.0)]
    new.insert(at, crashed)
    found = difference([run(1.0) for _ in range(3)], new)
    assert (found.gate.outcome, found.gate.cases[0].why) == ("failed", "not measured")
    assert found.cases[0].reason == "outcome crashed in the new run: gone"


def test_versions_are_held_against_the_first_that_is_known(run, crashed):
    old, new = run(1.0), run(1.0, version="1.3")
    with pytest.raises(UsageError, match=f"^{old.run} and {new.run} differ in version"):
        as_one([crashed, old, new], by_run=True)


def test_a_run_counts_once(run):
    once = run(1.0)
    with pytest.raises(UsageError, match="is given twice"):
        as_one([once, run(1.0), once], by_run=True)


def test_work_that_nobody_checked_fails(run):
    checked, not_checked = run(1.0), run(1.0, proof=None)
    for base, new in ((not_checked, checked), (checked, not_checked), (not_checked, not_checked)):
        found = difference([base], [new])
        assert found.gate.outcome == "failed"
        assert found.gate.cases[0].why == "not checked"
        assert found.cases[0].reason.endswith(
            "measure without --no-verify, or give --allow-unchecked"
        )
        assert found.cases[0].ratio == pytest.approx(1.0), "it is shown all the same"
        allowed = difference([base], [new], allow_unchecked=True)
        assert allowed.gate.outcome == "passed"


def test_work_in_doubt_fails_and_is_no_base(run):
    whole = run(1.0)
    doubted = replace(whole.cases[0], doubts=["tiny: 300 % of the machine's peak"])
    doubtful = replace(run(1.0), cases=[doubted])
    found = difference([whole], [doubtful])
    assert (found.gate.outcome, found.gate.cases[0].why) == ("failed", "in doubt")
    assert found.cases[0].reason == "its work is in doubt: tiny: 300 % of the machine's peak"
    found = difference([doubtful], [whole])
    assert found.gate.outcome == "inconclusive"
    assert found.cases[0].reason.startswith("the base run's work is in doubt: ")
    several = difference([whole, run(1.0), run(1.0)], [run(1.0), doubtful, run(1.0)])
    assert several.gate.outcome == "failed", "one run is enough"
