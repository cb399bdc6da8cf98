"""Summaries made by hand, and copies of others with changes."""

from __future__ import annotations

from dataclasses import fields, replace
from types import SimpleNamespace

from cases import make_case

from mbench import stats
from mbench.contract.case import Case
from mbench.machine.records import System
from mbench.measure.verification import CaseProof
from mbench.proofs.judge import Proof
from mbench.results.case_summary import CaseSummary, Disturbed
from mbench.results.figures import StepTimes, Throughput
from mbench.results.pair_summary import PairSummary
from mbench.results.summary import Summary
from mbench.spec.adaptive import Adaptive

__all__ = ["case", "disturbed", "pair", "proof_of", "summary_of", "with_case", "with_pair"]

SYSTEM = System(
    hostname="node7", os="Linux", python="3.11.7", cpu="made-up", physical_cores=2,
    logical_cores=2, usable_cores=2, default_threads=2,
    threads_because="all 2 cores of the machine", governor=None, current_mhz=None,
    transparent_huge_pages=None, memory_bytes=2**34, load_average=[0.0, 0.0, 0.0], gpus=[],
    variables={},
)  # fmt: skip
AXES = {field.name for field in fields(Case)}


def case(**given):
    """A case on a GPU; `rate` is in images/s, `times` the mean and percentiles of steps in ms."""
    rate, times = given.pop("rate", None), given.pop("times", None)
    known = {"model": "resnet50", "device": "cuda"}
    axes = make_case(**known | {name: given.pop(name) for name in AXES & given.keys()})
    empty = dict.fromkeys(field.name for field in fields(CaseSummary))
    usual = {
        "framework": "tiny", "framework_title": "Tiny", "label": "tiny", "version": "1.2",
        "axes": axes, "seed": 0, "devices": axes.devices,
        "global_batch_size": axes.samples_per_step, "standard": True, "outcome": "ok",
        "reason": "", "flops_per_sample": 1e9, "processes": 1, "rounds": 1, "disturbances": [],
        "nodes": [], "differences": [], "doubts": [], "unchecked": [], "metrics": {},
        "metrics_lacking": {},
        "throughput": rate and throughput(rate), "step_time_ms": times and step_times(**times),
    }  # fmt: skip
    made = {**empty, **usual, **given}
    return CaseSummary(**{**made, "spec": made["spec"] or made["label"]})


def throughput(value, low=None, high=None):
    return Throughput(value=value, low=low, high=high, unit="images/s", processes=[value],
                      rounds=[[value]], mean_of_rates=None)  # fmt: skip


def step_times(*, mean, latency_mean=None, samples=0, **percentiles):
    known = dict.fromkeys(f"p{rank:g}" for rank in stats.PERCENTILES) | percentiles
    return StepTimes(mean=mean, samples=samples, percentiles=known, lacking={},
                     latency_mean=latency_mean, fewest=samples)  # fmt: skip


def pair(**given):
    """A comparison of the first two cases; five process pairs show that the second is faster."""
    usual = {
        "cases": (0, 1), "baseline": "torch", "framework": "tf", "against_first": True,
        "shared": {}, "compilers": {}, "metric": "throughput", "setup": None,
        "equal_work": "proven", "verdict": "faster", "ratio": 1.087, "low": 1.06, "high": 1.115,
        "median": 1.09, "process_pairs": 5, "reason": "all processes measured", "disturbances": [],
    }  # fmt: skip
    return PairSummary(**{**usual, **given})


def disturbed(says="others computed", *values, kind="other-load", share=0.5):
    return Disturbed(kind=kind, host="", share=share, text=says.format(*values), says=says,
                     values=values)  # fmt: skip


def proof_of(*findings, outcome="ok", reason="", notes=(), label="tiny", case=None):
    """The result of `mbench verify` for a case with these findings."""
    proof = Proof(list(findings), list(notes)).record() if findings else None
    entry = SimpleNamespace(label=label, case=case or make_case(model="m"))
    return CaseProof(entry=entry, outcome=outcome, reason=reason, proof=proof)


def summary_of(*cases, comparisons=(), **given):
    usual = {
        "schema": 1, "run": "r", "status": "complete", "mbench": "0.1.0", "command": ["mbench"],
        "started": "2026-01-02T15:04:00+00:00", "finished": "2026-01-02T15:05:00+00:00",
        "resumed": None, "cut_off": False, "oddities": [],
        "protocol": Adaptive(), "system": SYSTEM, "checks": [],
        "other_mbench": [], "absences": [], "searches": [], "metrics": {},
    }  # fmt: skip
    return Summary(**{**usual, "cases": [*cases], "comparisons": [*comparisons], **given})


def with_case(summary, at=None, **changes):
    """The summary with changes to case number `at`, or to all cases if it is None."""
    cases = [changed(one, changes) if at in (None, number) else one
             for number, one in enumerate(summary.cases)]  # fmt: skip
    return replace(summary, cases=cases)


def changed(case, changes):
    axes = replace(case.axes, **{name: changes[name] for name in AXES & changes.keys()})
    rest = {name: value for name, value in changes.items() if name not in AXES}
    return replace(case, axes=axes, **rest)


def with_pair(summary, at=None, **changes):
    """The summary with changes to comparison number `at`, or to all if it is None."""
    pairs = [replace(one, **changes) if at in (None, number) else one
             for number, one in enumerate(summary.comparisons)]  # fmt: skip
    return replace(summary, comparisons=pairs)
