"""What an operator's calls are worth: FLOPs and bytes by time, and how near they come to the
machine's roofline (Williams, Waterman and Patterson 2009).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mbench.results.ceiling import largest, peak, rate, where

if TYPE_CHECKING:
    from mbench.results.records import CaseRecord, Run

__all__ = ["operator"]

Document = dict[str, Any]


def operator(run: Run, case: CaseRecord, speed: Document | None) -> Document | None:
    """The figures of a case that is an operator; None of a model.

    All of them are of all devices together, and so is the roof.
    """
    moved, flops = case.planned.bytes_per_sample, case.planned.flops_per_sample
    if moved is None:
        return None
    calls = None if speed is None else float(speed["value"])
    roof, limit = attainable(flops, moved, products=peak(run, case), memory=memory(run, case))
    roof = None if roof is None else roof * case.axes.devices
    return {
        "stands": run.operator_counts.get(case.planned.comparison, {}),
        "bytes_per_sample": moved,
        "flops_per_second": None if calls is None else calls * flops,
        "bytes_per_second": None if calls is None else calls * moved,
        "attainable_per_second": roof,
        "limit": limit,
        "roofline": None if calls is None or roof is None else calls / roof,
    }


def attainable(
    flops: float, moved: int, *, products: float | None, memory: float | None
) -> tuple[float | None, str | None]:
    """Calls per second that the machine's peaks allow, and which of them it is: min(peak, bytes per
    second x FLOPs per byte) in calls, which operators without products have too.

    None where a peak that it takes is not known.
    """
    if memory is None or (flops and products is None) or not (flops or moved):
        return None, None
    seconds = {"memory": moved / memory, "products": flops / products if products else 0.0}
    limit = max(seconds, key=lambda name: seconds[name])
    return 1 / seconds[limit], limit


def memory(run: Run, case: CaseRecord) -> float | None:
    """Bytes per second of the fastest pass through memory that any framework of the run made here,
    in the precision of `case`, on its device, with its threads; None where none was made.
    """
    probes = [p for c in run.cases.values() if where(c) == where(case) for p in c.ceiling]
    found = largest(probes, "add")
    return rate(found) if found else None
