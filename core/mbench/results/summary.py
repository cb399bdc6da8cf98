"""The result of a run as one JSON document, computed from its raw values.

Its schema is described in docs/results-schema.md; every report shows these numbers and no others.
"""

from __future__ import annotations

from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from mbench import stats
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
        "cases": [summarize_case(run, case) for case in run.cases.values()],
        "comparisons": [
            document
            for number in run.comparisons
            for document in compare(run, [c for c in run.cases.values() if c.comparison == number])
        ],
    }


def summarize_case(run: Run, case: CaseRecord) -> Document:
    """One case: what it is, how it ended, its numbers where there are any."""
    axes = case.axes
    processes = list(case.processes.values())
    first = processes[0] if processes else None
    peaks = [p.peak_bytes for p in processes if p.peak_bytes is not None]
    measured = any(process.blocks for process in processes)
    outcome = case.outcome or ("ok" if measured else "failed")
    reason = case.reason
    if not measured and case.outcome is None:
        reason = "interrupted before its first round" if run.status != "complete" else "no rounds"
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
        "throughput": throughput(case),
        "step_time_ms": step_times(case),
        "first_step_seconds": median(p.first_step_nanoseconds for p in processes) / 1e9
        if processes
        else None,
        "first_loss": first.first_loss if first else None,
        "peak_memory_bytes": max(peaks) if peaks else None,
        "flops_per_sample": case.flops_per_sample,
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
    "image_size", "sequence_length", "clip",
)  # fmt: skip


def rates(case: CaseRecord) -> dict[int, dict[int, float]]:
    """process -> round -> samples per second."""
    batch = case.axes["batch_size"]
    return {
        process.number: {
            block.round: block.steps * batch * 1e9 / block.nanoseconds[0]
            for block in process.blocks
            if not block.each
        }
        for process in case.processes.values()
        if any(not block.each for block in process.blocks)
    }


def throughput(case: CaseRecord) -> Document | None:
    """Samples done / seconds elapsed per process; the median process and the interval of them."""
    batch = case.axes["batch_size"]
    values = []
    for process in case.processes.values():
        blocks = [block for block in process.blocks if not block.each]
        if blocks:
            seconds = sum(block.nanoseconds[0] for block in blocks) / 1e9
            values.append(sum(block.steps for block in blocks) * batch / seconds)
    if not values:
        return None
    interval = stats.geometric_interval(values)
    return {
        "median": median(values),
        "low": interval.low,
        "high": interval.high,
        "unit": f"{case.samples}/s",
        "processes": values,
        "rounds": [list(of_process.values()) for of_process in rates(case).values()],
    }


def step_times(case: CaseRecord) -> Document | None:
    """Mean step time of the blocks; percentiles of the steps that were timed one by one."""
    blocks = [b for p in case.processes.values() for b in p.blocks]
    whole = [b for b in blocks if not b.each]
    if not whole:
        return None
    single = [value / 1e6 for b in blocks if b.each for value in b.nanoseconds]
    document: Document = {
        "mean": sum(b.nanoseconds[0] for b in whole) / sum(b.steps for b in whole) / 1e6,
        "samples": len(single),
    }
    for rank in stats.PERCENTILES:
        document[f"p{rank:g}"] = stats.percentile(single, rank)
    document["latency_mean"] = fmean(single) if single else None
    return document


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


def compare(run: Run, cases: list[CaseRecord]) -> list[Document]:
    """Every other case of a comparison against its first."""
    if len(cases) < 2:
        return []
    baseline, *others = cases
    documents = []
    for other in others:
        interval = stats.ratio(rates(baseline), rates(other))
        ended = next((c for c in (baseline, other) if c.outcome), None)
        document: Document = {
            "cases": [baseline.number, other.number],
            "baseline": baseline.label,
            "framework": other.label,
            **{key: other.axes[key] for key in ("model", "mode", "batch_size", "precision")},
            "compilers": {baseline.label: baseline.axes["compiler"],
                          other.label: other.axes["compiler"]},
            "device": other.axes["device"],
            "equal_work": equality(baseline, other),
            "ratio": None, "low": None, "high": None, "process_pairs": 0, "pairs": [],
            "verdict": None, "reason": run.comparisons[other.comparison]["reason"],
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
                "process_pairs": interval.replicates,
                "pairs": stats.pair_ratios(rates(baseline), rates(other)),
                "verdict": stats.verdict(interval),
            }
        documents.append(document)
    return documents
