"""The result of a run as one JSON document, computed from its raw values.

Its schema is described in docs/results-schema.md; every report shows these numbers and no others.
"""

from __future__ import annotations

from dataclasses import asdict
from statistics import median
from typing import TYPE_CHECKING, Any

from mbench import stats
from mbench.results.ceiling import ceiling, mfu, peak
from mbench.results.figures import rates, step_times, throughput
from mbench.results.machine import disturbances, energy, telemetry

if TYPE_CHECKING:
    from mbench.results.run import CaseRecord, Run

__all__ = ["summarize"]

Document = dict[str, Any]


def summarize(run: Run) -> Document:
    """The document of `run`: system, cases and comparisons."""
    return {
        "schema": run.header["schema"],
        "run": run.id,
        "status": run.status,
        "mbench": run.header["mbench"],
        "command": run.header["arguments"],
        "started": run.header["started"],
        "finished": run.finished,
        "cut_off": run.cut_off,
        "protocol": run.header["protocol"],
        "system": run.header["system"],
        "searches": [
            {**asdict(found), "comparison": run.comparisons[found.comparison]["title"]}
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
    found = [case for case in run.cases.values() if case.comparison == comparison]
    return sorted(found, key=lambda case: case.number)


def summarize_case(run: Run, case: CaseRecord) -> Document:
    """One case: what it is, how it ended, its numbers where there are any."""
    axes, protocol = case.axes, run.header["protocol"]
    processes = list(case.processes.values())
    first = processes[0] if processes else None
    peaks = [p.peak_bytes for p in processes if p.peak_bytes is not None]
    measured = any(process.blocks for process in processes)
    outcome = case.outcome or ("ok" if measured else "failed")
    reason = case.reason
    if not measured and case.outcome is None:
        reason = "interrupted before its first round" if run.status != "complete" else "no rounds"
    speed, highest = throughput(case, claims_interval=protocol["claims_interval"]), peak(run, case)
    return {
        "framework": case.framework,
        "title": case.title or case.framework,
        "label": case.label,
        "version": case.info["version"] if case.info else None,
        **{key: axes[key] for key in CASE_AXES},
        "standard": case.standard,
        "outcome": outcome,
        "reason": reason,
        "log": case.log,
        "throughput": speed,
        "step_time_ms": step_times(case, by_epoch=protocol["percentiles_by_epoch"]),
        "first_step_seconds": median(p.first_step_nanoseconds for p in processes) / 1e9
        if processes
        else None,
        "first_loss": first.first_loss if first else None,
        "peak_memory_bytes": max(peaks) if peaks else None,
        "flops_per_sample": case.flops_per_sample,
        "ceiling": ceiling(run, case),
        "peak_flops_per_second": highest,
        "mfu": mfu(case, speed, highest),
        "calibration": asdict(case.calibration) if case.calibration else None,
        "warmup": {
            "steps": 1 + sum(count for count, _ in first.warmup_blocks),
            "reason": first.warmup_reason,
        }
        if first
        else None,
        "processes": len(processes),
        "rounds": len({(p.number, b.round) for p in processes for b in p.blocks}),
        "telemetry": telemetry(case),
        "energy": energy(case),
        "disturbances": disturbances(run, case),
        "differences": first.differences if first else [],
        "equal_work": case.equal_work,
        "framework_info": case.info,
        "environment": case.environment,
    }


CASE_AXES = (
    "model", "mode", "batch_size", "precision", "compiler", "device", "threads", "seed",
    "sizes", "clip",
)  # fmt: skip


def equality(*cases: CaseRecord) -> str:
    """What is known of the equality of the cases' work."""
    if any(case.equal_work is None for case in cases):
        return "not checked"
    proven = all(case.equal_work and case.equal_work["proven"] for case in cases)
    return "proven" if proven else "not proven"


def unlike_losses(*cases: CaseRecord) -> str:
    """What is wrong with the first losses of what was timed, at its full size; empty if nothing.

    The proof is made small; this holds its result against the very objects that were timed.
    """
    losses = [p.first_loss for case in cases for p in case.processes.values()]
    known = [loss for loss in losses if loss is not None]
    if known and max(known) - min(known) > cases[0].loss_gate * abs(known[0]):
        return f"the first losses as timed lie apart: {min(known):.9g} and {max(known):.9g}"
    return ""


def ratio(
    baseline: CaseRecord, other: CaseRecord, *, protocol: Document
) -> tuple[stats.Interval | None, str | None]:
    """The ratio as the protocol makes it, and why it has no interval where it has none."""
    if protocol["claims_interval"]:
        found = stats.ratio(rates(baseline), rates(other))
        if found is None:
            return None, None
        interval = found.interval()
        return interval, "fewer than three process pairs" if interval.low is None else None
    speeds = [throughput(case, claims_interval=False) for case in (baseline, other)]
    medians = [speed["median"] for speed in speeds if speed]
    if len(medians) < 2:
        return None, None
    name = protocol["name"]
    why = f"{name} measures one case after the other, so a drift of the machine counts too"
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
        interval, why_not = ratio(baseline, other, protocol=run.header["protocol"])
        ended = next((c for c in (baseline, other) if c.outcome), None)
        document: Document = {
            "cases": [positions[baseline.number], positions[other.number]],
            "baseline": baseline.label,
            "framework": other.label,
            **{key: other.axes[key] for key in ("model", "mode", "batch_size", "precision")},
            "compilers": {baseline.label: baseline.axes["compiler"],
                          other.label: other.axes["compiler"]},
            "device": other.axes["device"],
            "equal_work": equality(baseline, other),
            "ratio": None, "low": None, "high": None, "no_interval": None, "process_pairs": 0,
            "pairs": [],
            "verdict": None, "noise_floor": None,
            "reason": run.comparisons[other.comparison]["reason"],
            "disturbances": [
                f"{case.label}: {disturbance['text']}"
                for case in (baseline, other)
                for disturbance in disturbances(run, case)
            ],
        }  # fmt: skip
        unlike = unlike_losses(baseline, other)
        if ended is not None:
            document["reason"] = f"{ended.label} is {ended.outcome}: {ended.reason}"
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
