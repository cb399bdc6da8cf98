"""The figures of one case from its raw values, by the arithmetic of the protocol that made them."""

from __future__ import annotations

from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from mbench import stats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.results.events import Block
    from mbench.results.records import CaseRecord, Process
    from mbench.spec.protocol import Protocol

__all__ = [
    "bandwidth",
    "center",
    "level",
    "level_of",
    "rates",
    "speeds",
    "step_times",
    "throughput",
]


def timed(process: Process) -> list[Block]:
    """The blocks that make throughput: those timed whole, else those timed step by step."""
    return [block for block in process.blocks if not block.each] or process.blocks


def rate(case: CaseRecord, blocks: Sequence[Block]) -> float:
    """Samples done / seconds elapsed."""
    steps = nanoseconds = 0
    for block in blocks:
        steps += block.steps
        nanoseconds += sum(block.nanoseconds)
    return steps * case.axes.samples_per_step / (nanoseconds / 1e9)


def speeds(case: CaseRecord) -> list[float]:
    """Samples per second of each process."""
    return [rate(case, timed(process)) for process in case.processes.values() if process.blocks]


def rates(case: CaseRecord) -> dict[int, dict[int, float]]:
    """process -> round -> samples per second."""
    found = {}
    for process in case.processes.values():
        rounds: dict[int, list[Block]] = {}
        for block in timed(process):
            rounds.setdefault(block.round, []).append(block)
        if rounds:
            found[process.warm.process] = {at: rate(case, rounds[at]) for at in sorted(rounds)}
    return found


def level(protocol: Protocol) -> float | None:
    """By which its intervals are computed to hold with 95 %; None where it claims none."""
    return level_of(protocol.claims_interval, stopped=protocol.stops_by_width)


def level_of(claims_interval: bool, *, stopped: bool) -> float | None:
    """The same; where an interval's own width decided when to stop, it was narrow by luck too."""
    if not claims_interval:
        return None
    return stats.STOPPED_CONFIDENCE if stopped else stats.CONFIDENCE


def center(processes: Sequence[float], *, level: float | None) -> dict[str, float | None]:
    """Of the throughputs of processes with its interval; without a level their median."""
    if level is None:
        return {"value": median(processes), "low": None, "high": None}
    interval = stats.geometric_interval(processes, confidence=level)
    return {"value": interval.value, "low": interval.low, "high": interval.high}


def throughput(case: CaseRecord, *, level: float | None) -> dict[str, Any] | None:
    """The centre of the processes, and the interval where the protocol claims one."""
    values = speeds(case)
    if not values:
        return None
    batch = case.axes.samples_per_step
    single = steps_one_by_one(case)
    return {
        **center(values, level=level),
        "unit": f"{case.planned.samples}/s",
        "processes": values,
        "rounds": [list(of_process.values()) for of_process in rates(case).values()],
        "mean_of_rates": fmean(batch * 1e9 / value for value in single) if single else None,
    }


def bandwidth(case: CaseRecord, speed: dict[str, Any] | None) -> dict[str, float] | None:
    """Bytes per second as nccl-tests counts them, of what does nothing but exchange."""
    size, share = case.planned.message_bytes, case.planned.bus_share
    if speed is None or size is None or share is None:
        return None
    algorithm = float(size * speed["value"] / case.axes.devices)  # a call is all devices' one
    return {
        "message_bytes": size,
        "algorithm_bytes_per_second": algorithm,
        "bus_bytes_per_second": algorithm * share,
    }


def steps_one_by_one(case: CaseRecord) -> list[int]:
    """Nanoseconds of each step that was synchronised and timed on its own."""
    blocks = [block for process in case.processes.values() for block in process.blocks]
    return [value for block in blocks if block.each for value in block.nanoseconds]


def step_times(case: CaseRecord, *, by_epoch: bool = False) -> dict[str, Any] | None:
    """Mean step time; percentiles of the steps timed one by one, and why some are lacking.

    `by_epoch`: percentiles are those of each epoch, averaged.
    """
    blocks = [block for process in case.processes.values() for block in timed(process)]
    if not blocks:
        return None
    single = sorted(value / 1e6 for value in steps_one_by_one(case))  # once for all percentiles
    samples = epochs(case) if by_epoch else [single]
    elapsed = sum(sum(block.nanoseconds) for block in blocks)
    document: dict[str, Any] = {
        "mean": elapsed / sum(block.steps for block in blocks) / 1e6,
        "samples": len(single),
    }
    lacking = {}
    for rank in stats.PERCENTILES:
        found = [stats.percentile(sample, rank) for sample in samples]
        known = [value for value in found if value is not None]
        complete = bool(known) and len(known) == len(found)
        document[f"p{rank:g}"] = fmean(known) if complete else None
        if not single:
            lacking[f"p{rank:g}"] = f"no step of {case.axes.mode} was timed on its own"
        elif not complete:
            fewest = min(len(sample) for sample in samples)
            where = " in an epoch" if len(samples) > 1 else ""
            lacking[f"p{rank:g}"] = (
                f"takes {stats.steps_for(rank):,} steps, there are {fewest:,}{where}"
            )
    document["lacking"] = lacking
    document["latency_mean"] = fmean(single) if single else None
    return document


def epochs(case: CaseRecord) -> list[list[float]]:
    """Milliseconds of the steps that were timed one by one, for each epoch of each process."""
    found: dict[tuple[int, int], list[float]] = {}
    for process in case.processes.values():
        for block in process.blocks:
            if block.each:
                sample = found.setdefault((process.warm.process, block.round), [])
                sample += [value / 1e6 for value in block.nanoseconds]
    return list(found.values())
