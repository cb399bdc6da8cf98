"""The result of a run as one JSON document, computed from its raw values.

Its schema is described in docs/results-schema.md; every report shows these numbers and no others.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from mbench.contract.axes import AXES
from mbench.results.ceiling import ceiling, data_sheet, mfu, peak
from mbench.results.comparisons import compare
from mbench.results.encoding import plain
from mbench.results.figures import bandwidth, level, step_times, throughput
from mbench.results.machine import device_memory, disturbances, energy, telemetry
from mbench.results.roofline import operator
from mbench.results.validity import doubts, implausible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mbench.results import events
    from mbench.results.records import CaseRecord, Process, Run

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
        "comparisons": compare(run),
    }


def summarize_case(run: Run, case: CaseRecord) -> Document:
    """One case: what it is, how it ended, its numbers where there are any."""
    planned, protocol, ended = case.planned, run.header.protocol, case.outcome
    processes = list(case.processes.values())
    first = processes[0].warm if processes else None
    measured = any(process.blocks for process in processes)
    whole = run.end is not None and run.end.status == "complete"
    unmeasured = "no rounds" if whole else "interrupted before its first round"
    speed, highest = throughput(case, level=level(protocol)), peak(run, case)
    return {
        "framework": planned.framework,
        "framework_title": planned.framework_title,
        "label": planned.label,
        "spec": planned.spec,
        "version": case.info.version if case.info else None,
        **{axis.name: axis.of(case.axes) for axis in AXES},
        "seed": case.axes.seed,
        "devices": case.axes.devices,
        "global_batch_size": case.axes.samples_per_step,
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
        "peak_memory_bytes": most(p.peak_bytes for p in processes),
        "warmup_peak_memory_bytes": most(p.warm.warmup_peak_bytes for p in processes),
        "device_memory_bytes": device_memory(case),
        "synchronize_seconds": waiting(processes),
        "flops_per_sample": planned.flops_per_sample,
        "bandwidth": bandwidth(case, speed),
        "ceiling": ceiling(run, case),
        "peak_flops_per_second": highest,
        "data_sheet_flops_per_second": data_sheet(case),
        "mfu": mfu(case, speed, highest),
        "operator": operator(run, case, speed),
        "calibration": facts(case.calibration),
        "warmup": {
            "steps": 1 + sum(count for count, _ in first.warmup_blocks),
            "reason": first.warmup_reason,
        }
        if first
        else None,
        "ranks": ranks(case),
        "processes": len(processes),
        "rounds": len({(b.process, b.round) for p in processes for b in p.blocks}),
        "telemetry": telemetry(case),
        "energy": energy(case),
        "disturbances": [
            {"kind": found.kind, "host": found.host, "share": found.share, "text": found.text}
            for found in disturbances(run, case)
        ],
        "nodes": [facts(node) for node in case.nodes.values()],
        "differences": first.differences if first else [],
        "equal_work": facts(case.equal_work),
        "batches": first.batches if first else None,
        "rounding": facts(case.rounding),
        "doubts": [*implausible(run, case), *doubts(case, case)],
        "framework_info": facts(case.info),
        "environment": facts(case.environment),
    }


def most(values: Iterable[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)


def ranks(case: CaseRecord) -> Document | None:
    """How ranks' times of the same block lie apart, by the median of blocks, and how often each was
    the slowest; None where there is one alone.
    """
    blocks = [b for p in case.processes.values() for b in p.blocks if b.ranks]
    if not blocks:
        return None
    times = [[sum(of_rank) for of_rank in block.ranks] for block in blocks]
    slowest = [one.index(max(one)) for one in times]
    count = case.axes.devices
    return {
        "spread": median(max(one) / min(one) - 1 for one in times),
        "slowest": [slowest.count(rank) / len(times) for rank in range(count)],
    }


def waiting(processes: Sequence[Process]) -> float | None:
    """What `synchronize` takes where nothing is left to wait for: of processes the median."""
    told = [p.warm.synchronize_nanoseconds for p in processes]
    known = [value for value in told if value is not None]
    return median(known) / 1e9 if known else None


def facts(event: events.OfCase | None) -> Document | None:
    """What an event says, apart from its case; None where there was none."""
    return {name: v for name, v in plain(event).items() if name != "case"} if event else None
