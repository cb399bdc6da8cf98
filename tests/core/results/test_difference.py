"""Runs are compared: verdicts from processes, regressions, and what cannot be compared."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mbench.engine.outcome import CaseEnded
from mbench.errors import MbenchError
from mbench.results.difference import Change, differ
from mbench.results.facts import EnvironmentRecord
from mbench.spec.presets import PRESETS

STEADY = [[1.0, 1.0], [1.01, 1.0], [1.0, 1.02], [1.0, 0.99], [1.01, 1.0]]
MACHINE = {"cpu": "EPYC", "physical_cores": 2, "usable_cores": 2, "hostname": "a", "gpus": []}


def scaled(factor, rounds=STEADY):
    return [[seconds * factor for seconds in process] for process in rounds]


@pytest.fixture
def diff(summary):
    def diff(base, new, *, fail_if_slower=0.03, **both):
        base, new = ({**both, **given} for given in (base, new))
        return differ(
            summary(**base), summary(**new), fail_if_slower=fail_if_slower, allow_unchecked=True
        ).to_json()

    return diff


@pytest.mark.parametrize(
    ("factor", "verdict", "gate"),
    [(1.0, "alike", "passed"), (1.1, "slower", "failed"), (0.9, "faster", "passed"),
     (1.013, "slower", "passed"), (1.03, "slower", "inconclusive")],
)  # fmt: skip
def test_verdicts_come_from_the_scatter_of_processes(diff, factor, verdict, gate):
    found = diff({"seconds": {"tiny": STEADY}}, {"seconds": {"tiny": scaled(factor)}})
    (case,) = found["cases"]
    assert (case["verdict"], case["gate"]) == (verdict, gate)
    assert case["ratio"] == pytest.approx(1 / factor)
    assert case["low"] < case["ratio"] < case["high"]
    assert found["gate"]["outcome"] == gate


def test_noise_alone_is_no_regression_whatever_its_size(diff):
    noisy = [[1.0], [1.6], [0.7], [1.3]]
    found = diff({"seconds": {"tiny": noisy}}, {"seconds": {"tiny": scaled(1.15, noisy)}})
    (case,) = found["cases"]
    assert case["verdict"] == "no difference shown"
    assert case["ratio"] < 0.97
    assert case["reason"] == (
        "too noisy to detect a slowdown of 3 %; "
        "about 84 in each run would be enough: --processes 84"
    )
    assert found["gate"]["cases"] == [
        {"case": case["case"], "outcome": "inconclusive", "why": "not precise enough"}
    ]


@pytest.mark.parametrize("made", [4, 5])
def test_as_many_processes_as_are_said_tell_a_slowdown(diff, made):
    wavering = [[1.0], [1.03], [0.98], [1.01], [1.02]][:made]
    run = {"seconds": {"tiny": wavering}}
    found = diff(run, run, fail_if_slower=0.015)
    (case,) = found["cases"]
    assert case["gate"] == "inconclusive"
    assert f"would be enough: --processes {case['processes']}" in case["reason"]
    enough = (wavering * 20)[: case["processes"]]
    run = {"seconds": {"tiny": enough}}
    again = diff(run, run, fail_if_slower=0.015)
    assert again["gate"]["outcome"] == "passed"


def test_two_processes_decide_nothing(diff):
    found = diff({"seconds": {"tiny": [[1.0]] * 2}}, {"seconds": {"tiny": [[2.0]] * 2}})
    (case,) = found["cases"]
    assert case["verdict"] == "undetermined"
    assert case["reason"].startswith("too few processes to detect a slowdown of 3 %; about 3 ")
    assert found["gate"]["outcome"] == "inconclusive"


def test_intervals_widen_with_the_number_of_cases(diff):
    alone = diff({"seconds": {"tiny": STEADY}}, {"seconds": {"tiny": scaled(1.1)}})
    many = diff(
        {"seconds": {"tiny": STEADY}}, {"seconds": {"tiny": scaled(1.1)}},
        batch_size=tuple(range(1, 11)),
    )  # fmt: skip
    assert many["intervals"] == 10
    assert many["cases"][0]["low"] < alone["cases"][0]["low"]


def test_another_machine_is_not_comparable(diff):
    found = diff(
        {"seconds": {"tiny": STEADY}, "system": MACHINE},
        {"seconds": {"tiny": scaled(2)}, "system": {**MACHINE, "cpu": "Xeon"}},
    )
    (case,) = found["cases"]
    assert (case["verdict"], case["gate"]) == ("not comparable", "inconclusive")
    assert case["reason"] == "other conditions: cpu EPYC -> Xeon"


def test_another_host_of_the_same_kind_is_said_and_compared(diff):
    found = diff(
        {"seconds": {"tiny": STEADY}, "system": MACHINE},
        {"seconds": {"tiny": STEADY}, "system": {**MACHINE, "hostname": "b"}},
    )
    assert found["changes"] == [{"what": "hostname", "base": "a", "new": "b"}]
    assert found["cases"][0]["verdict"] == "alike"


def test_another_variable_that_tunes_workers_is_said_and_compared(diff):
    seconds = {"seconds": {"tiny": STEADY}}
    found = diff(
        {**seconds, "system": MACHINE},
        {**seconds, "system": {**MACHINE, "variables": {"MALLOC_ARENA_MAX": "1"}}},
    )
    assert found["changes"] == [{"what": "variables", "base": "none", "new": "MALLOC_ARENA_MAX=1"}]
    assert found["cases"][0]["verdict"] == "alike"


def test_a_new_gpu_is_another_machine_and_a_new_driver_is_not(diff):
    def gpu(name, driver):
        return {"system": {**MACHINE, "gpus": [{"name": name, "driver_version": driver}]}}

    seconds = {"seconds": {"tiny": STEADY}}
    other = diff({**seconds, **gpu("A", "1")}, {**seconds, **gpu("B", "1")})
    assert other["cases"][0]["verdict"] == "not comparable"
    newer = diff({**seconds, **gpu("A", "1")}, {**seconds, **gpu("A", "2")})
    assert newer["cases"][0]["verdict"] == "alike"
    assert newer["changes"] == [{"what": "driver", "base": "1", "new": "2"}]


def test_what_was_measured_and_now_falls_short_fails(diff):
    end = {"tiny": CaseEnded("oom", "too large")}
    seconds = {"seconds": {"tiny": STEADY}}
    (case,) = diff(seconds, {"seconds": {"tiny": []}, "ends": end})["cases"]
    assert case["gate"] == "failed"
    assert case["reason"] == "outcome oom in the new run: too large"
    (case,) = diff({"seconds": {"tiny": []}, "ends": end}, seconds)["cases"]
    assert case["gate"] is None
    assert case["verdict"] == "not comparable"


def test_work_that_is_not_proven_now_fails(diff, proven):
    seconds = {"seconds": {"tiny": STEADY}}
    found = diff(seconds, {**seconds, "proofs": {"tiny": proven.no}})
    assert found["cases"][0]["reason"] == "the new run's work is not proven equal"
    assert found["gate"]["cases"][0]["why"] == "not proven equal"
    base = diff({**seconds, "proofs": {"tiny": proven.no}}, seconds)
    assert base["cases"][0]["gate"] == "inconclusive"


def test_a_version_given_by_the_user_is_matched_by_its_framework(diff):
    found = diff({"seconds": {"tiny==1.1": STEADY}}, {"seconds": {"tiny==1.2": STEADY}})
    assert len(found["cases"]) == 1
    assert found["unmatched"] == []


def with_case(summary, **changes):
    """The summary of a run of one case, with fields of the case replaced."""
    (case,) = summary.cases
    return replace(summary, cases=[replace(case, **changes)])


def with_packages(**packages):
    return EnvironmentRecord(
        python="python", python_version="3.11", managed=True, digest=None, packages=packages
    )


def test_changed_versions_and_packages_are_listed(summary):
    base, new = (summary(seconds={"tiny": STEADY}) for _ in range(2))
    base = with_case(base, environment=with_packages(numpy="1.26", six="1"))
    new = with_case(new, version="1.3", environment=with_packages(numpy="2.0", six="1", extra="3"))
    (case,) = differ(base, new, fail_if_slower=0.03).cases
    assert case.changes == [
        Change(what="version", base="1.2", new="1.3"),
        Change(what="extra", base="none", new="3"),
        Change(what="numpy", base="1.26", new="2.0"),
    ]


def test_other_files_under_one_version_are_listed(summary):
    base, new = (summary(seconds={"tiny": STEADY}) for _ in range(2))
    known = with_packages(numpy="2.0", six="1")
    base = with_case(base, environment=replace(known, digests={"numpy": "a1", "six": "c"}))
    new = with_case(new, environment=replace(known, digests={"numpy": "b2", "six": "c"}))
    (case,) = differ(base, new, fail_if_slower=0.03).cases
    assert case.changes == [Change(what="numpy", base="2.0, files a1", new="2.0, files b2")]


def test_another_workload_is_not_comparable(summary):
    base, new = (summary(seconds={"tiny": STEADY}) for _ in range(2))
    (case,) = differ(base, with_case(new, flops_per_sample=1.0), fail_if_slower=0.03).cases
    assert case.reason == "the workload changed: FLOPs per sample differ"


def test_cases_of_one_run_only_are_listed(diff):
    found = diff({"seconds": {"tiny": STEADY}}, {"seconds": {"tiny": STEADY, "flaky": STEADY}})
    (one,) = found["unmatched"]
    assert one["case"].startswith("flaky: tiny-model train, batch 8")
    assert found["gate"]["outcome"] == "passed"


def test_a_case_that_is_missing_fails(diff):
    found = diff({"seconds": {"tiny": STEADY, "flaky": STEADY}}, {"seconds": {"tiny": STEADY}})
    assert found["gate"]["outcome"] == "failed"
    assert found["gate"]["cases"][1]["why"] == "not measured"


def test_runs_of_nothing_in_common_are_refused(diff):
    with pytest.raises(MbenchError, match="no case in common"):
        diff({"seconds": {"tiny": STEADY}}, {"seconds": {"tiny": STEADY}, "batch_size": (4,)})


def test_another_protocol_is_not_comparable(summary):
    base, new = (summary(seconds={"tiny": STEADY}) for _ in range(2))
    new = replace(new, protocol=PRESETS["dlperf"])
    (case,) = differ(base, new, fail_if_slower=0.03).cases
    assert case.reason == "other conditions: protocol adaptive -> dlperf"


@pytest.mark.parametrize("which", ["base", "new"])
def test_a_case_that_was_disturbed_throughout_is_not_judged(summary, which):
    """Otherwise other load would look like a regression, or hide one."""
    made = {"base": summary(seconds={"tiny": STEADY}), "new": summary(seconds={"tiny": STEADY})}
    (case,) = made[which].cases
    assert case.distorted == 0
    made[which] = replace(made[which], cases=[replace(case, distorted=1.0)])
    found = differ(**made, fail_if_slower=0.03, allow_unchecked=True)
    assert found.gate.outcome == "inconclusive"
    assert found.cases[0].reason == f"every round was disturbed in the {which} run"
