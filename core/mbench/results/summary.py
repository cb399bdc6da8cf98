"""The result of a run as one JSON document, computed from its raw values.

Its schema is described in docs/results-schema.md; every report shows these numbers and no others.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from mbench import stats
from mbench.results.ceiling import ceiling, mfu, peak
from mbench.results.events import plain
from mbench.results.figures import rates, step_times, throughput
from mbench.results.machine import disturbances, energy, telemetry

if TYPE_CHECKING:
    from mbench.plan.protocol import Protocol
    from mbench.results import events
    from mbench.results.records import CaseRecord, Run

__all__ = ["summarize"]

Document = dict[str, Any]


def summarize(run: Run) -> Document:
    """The document of `run`: system, cases and comparisons."""
    return {
        "schema": run.header.schema,
        "run": run.id,
        "status": run.status,
        "mbench": run.header.mbench,
        "command": run.header.arguments,
        "started": run.header.started,
        "finished": run.end.finished if run.end else None,
        "cut_off": run.cut_off,
        "protocol": plain(run.header.protocol),
        "system": plain(run.header.system),
        "searches": [
            {**plain(found), "comparison": run.comparisons[found.comparison].title}
            for found in run.searches
        ],
        "cases": [summarize_case(run, run.cases[number]) for number in sorted(run.cases)],
        "comparisons": [
            document
            for number in run.comparisons
            for document in compare(run, cases_of(run, number))
        ],
    }


def cases_of(run: Run, comparison: int) -> list[CaseRecord]:
    """In the order of the frameworks as they were named, whenever each was written down."""
    found = [case for case in run.cases.values() if case.planned.comparison == comparison]
    return sorted(found, key=lambda case: case.planned.case)


def summarize_case(run: Run, case: CaseRecord) -> Document:
    """One case: what it is, how it ended, its numbers where there are any."""
    planned, protocol, ended = case.planned, run.header.protocol, case.outcome
    processes = list(case.processes.values())
    first = processes[0].warm if processes else None
    peaks = [p.peak_bytes for p in processes if p.peak_bytes is not None]
    measured = any(process.blocks for process in processes)
    unmeasured = "no rounds" if run.status == "complete" else "interrupted before its first round"
    speed, highest = throughput(case, claims_interval=protocol.claims_interval), peak(run, case)
    return {
        "framework": planned.framework,
        "framework_title": planned.framework_title,
        "label": planned.label,
        "version": case.info.version if case.info else None,
        **{key: getattr(case.axes, key) for key in CASE_AXES},
        "standard": planned.standard,
        "outcome": ended.outcome if ended else "ok" if measured else "failed",
        "reason": ended.reason if ended else "" if measured else unmeasured,
        "log": ended.log if ended else None,
        "throughput": speed,
        "step_time_ms": step_times(case, by_epoch=protocol.percentiles_by_epoch),
        "first_step_seconds": median(p.warm.first_step_nanoseconds for p in processes) / 1e9
        if processes
        else None,
        "first_loss": first.first_loss if first else None,
        "peak_memory_bytes": max(peaks) if peaks else None,
        "flops_per_sample": planned.flops_per_sample,
        "ceiling": ceiling(run, case),
        "peak_flops_per_second": highest,
        "mfu": mfu(case, speed, highest),
        "calibration": facts(case.calibration),
        "warmup": {
            "steps": 1 + sum(count for count, _ in first.warmup_blocks),
            "reason": first.warmup_reason,
        }
        if first
        else None,
        "processes": len(processes),
        "rounds": len({(b.process, b.round) for p in processes for b in p.blocks}),
        "telemetry": telemetry(case),
        "energy": energy(case),
        "disturbances": disturbances(run, case),
        "differences": first.differences if first else [],
        "equal_work": facts(case.equal_work),
        "framework_info": facts(case.info),
        "environment": facts(case.environment),
    }


def facts(event: events.OfCase | None) -> Document | None:
    """What an event says, apart from its case; None where there was none."""
    return {name: v for name, v in plain(event).items() if name != "case"} if event else None


CASE_AXES = (
    "model", "mode", "batch_size", "precision", "compiler", "device", "threads", "seed",
    "sizes", "clip",
)  # fmt: skip


def equality(*cases: CaseRecord) -> str:
    """What is known of the equality of the cases' work."""
    proofs = [case.equal_work for case in cases]
    if None in proofs:
        return "not checked"
    return "proven" if all(proof and proof.proven for proof in proofs) else "not proven"


def unlike_losses(*cases: CaseRecord) -> str:
    """What is wrong with the first losses of what was timed, at its full size; empty if nothing.

    The proof is made small; this holds its result against the very objects that were timed.
    """
    losses = [p.warm.first_loss for case in cases for p in case.processes.values()]
    known = [loss for loss in losses if loss is not None]
    if known and max(known) - min(known) > cases[0].planned.loss_gate * abs(known[0]):
        return f"the first losses as timed lie apart: {min(known):.9g} and {max(known):.9g}"
    return ""


def ratio(
    baseline: CaseRecord, other: CaseRecord, *, protocol: Protocol
) -> tuple[stats.Interval | None, str | None]:
    """The ratio as the protocol makes it, and why it has no interval where it has none."""
    if protocol.claims_interval:
        found = stats.ratio(rates(baseline), rates(other))
        if found is None:
            return None, None
        interval = found.interval()
        return interval, "fewer than three process pairs" if interval.low is None else None
    speeds = [throughput(case, claims_interval=False) for case in (baseline, other)]
    medians = [speed["median"] for speed in speeds if speed]
    if len(medians) < 2:
        return None, None
    why = f"{protocol.name} measures one case after the other, so a drift of the machine counts too"
    return stats.Interval(medians[1] / medians[0], None, None, 0), why


def noise_floor(*cases: CaseRecord, pairs: int) -> float | None:
    """The larger of the floors that were known of the cases; None where none was."""
    known = stats.known_scatter([case.calibration.ratios for case in cases if case.calibration])
    return stats.detectable(known, pairs=pairs) if known else None


def compare(run: Run, cases: list[CaseRecord]) -> list[Document]:
    """Every other case of a comparison against its first."""
    if len(cases) < 2:
        return []
    baseline, *others = cases
    positions = {number: at for at, number in enumerate(sorted(run.cases))}
    documents = []
    for other in others:
        interval, why_not = ratio(baseline, other, protocol=run.header.protocol)
        fell_short = [(c.planned.label, c.outcome) for c in (baseline, other) if c.outcome]
        document: Document = {
            "cases": [positions[case.planned.case] for case in (baseline, other)],
            "baseline": baseline.planned.label,
            "framework": other.planned.label,
            **{
                key: getattr(other.axes, key)
                for key in ("model", "mode", "batch_size", "precision")
            },
            "compilers": {case.planned.label: case.axes.compiler for case in (baseline, other)},
            "device": other.axes.device,
            "equal_work": equality(baseline, other),
            "ratio": None, "low": None, "high": None, "no_interval": None, "process_pairs": 0,
            "pairs": [],
            "verdict": None, "noise_floor": None,
            "reason": run.comparisons[other.planned.comparison].reason,
            "disturbances": [
                f"{case.planned.label}: {disturbance['text']}"
                for case in (baseline, other)
                for disturbance in disturbances(run, case)
            ],
        }  # fmt: skip
        unlike = unlike_losses(baseline, other)
        if fell_short:
            label, ended = fell_short[0]
            document["reason"] = f"{label} is {ended.outcome}: {ended.reason}"
        elif interval is None:
            document["reason"] = "no round of both was measured"
        elif unlike and document["equal_work"] == "proven":
            document |= {"equal_work": "not proven", "reason": unlike}
        else:
            document |= {
                "ratio": interval.value,
                "low": interval.low,
                "high": interval.high,
                "no_interval": why_not,
                "process_pairs": interval.replicates,
                "pairs": [pair.total for pair in stats.pairs_of(rates(baseline), rates(other))]
                if interval.replicates
                else [],
                "verdict": stats.verdict(interval),
                "noise_floor": noise_floor(baseline, other, pairs=interval.replicates),
            }
        documents.append(document)
    return documents
