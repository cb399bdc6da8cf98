"""What the machine did while a case was measured, computed from the samples of its blocks."""

from __future__ import annotations

import math
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from mbench import stats
from mbench.telemetry.disturbances import Disturbance, find_disturbances, pace_changes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mbench.results.records import CaseRecord, Run
    from mbench.telemetry.usage import Usage

__all__ = ["device_memory", "disturbances", "energy", "telemetry"]

Document = dict[str, Any]

WARMING_CHANCE = 0.01
"""In how many cases noise alone may do as much."""
MOST_RATES = 300
"""Of a process, by which a trend is judged: rounds are rarely as many."""
WARMING_CHANGE = 0.01
"""A smaller change is not worth a word."""


def watched_of(case: CaseRecord) -> dict[tuple[int, int], list[Usage]]:
    """The blocks that were watched, by process and round."""
    rounds: dict[tuple[int, int], list[Usage]] = {}
    for process in case.processes.values():
        for seen in process.watched:
            if seen.usage is not None:
                rounds.setdefault(seen.turn, []).append(seen.usage)
    return rounds


def paces_of(case: CaseRecord) -> dict[tuple[int, int], int]:
    """Nanoseconds of an empty loop before each turn in which all workers were stopped."""
    return {
        seen.turn: seen.pace
        for process in case.processes.values()
        for seen in process.watched
        if seen.pace is not None
    }


def cores_of(case: CaseRecord) -> int:
    """The logical cores that its workers might use: fewest, should they differ."""
    return min(seen.cores for p in case.processes.values() for seen in p.watched)


def disturbances(run: Run, case: CaseRecord) -> list[Disturbance]:
    """What disturbed `case`; a device needs one core of the processor's.

    Its cores' pace is judged by what is usual over the turns of all cases that were beside it.
    """
    rounds = watched_of(case)
    found = warming(case)
    if paces := paces_of(case):
        beside = run.cases_of(case.planned.comparison)
        usual = median(pace for one in beside for pace in paces_of(one).values())
        found += pace_changes(paces, usual=usual)
    if not rounds:
        return found
    cores = cores_of(case)
    needed = case.axes.threads if case.axes.device == "cpu" else 1
    physical = min(run.header.system.usable_cores, cores)
    return found + find_disturbances(rounds, cores=cores, spare_cores=max(0, physical - needed))


def warming(case: CaseRecord) -> list[Disturbance]:
    """Whether steps still got faster from round to round of a process: the warm-up ended early."""
    rates = [
        thinned([block.steps / block.nanoseconds[0] for block in process.blocks if not block.each])
        for process in case.processes.values()
    ]
    change, chance = stats.trend(rates)
    if chance > WARMING_CHANCE or change < WARMING_CHANGE:
        return []
    text = f"steps still got {100 * change:.1f} % faster over the rounds of a process"
    return [Disturbance(kind="warm-up", share=1.0, text=text)]


def thinned(values: list[float]) -> list[float]:
    """Means of stretches of `values`, so few that all pairs of them can be looked at."""
    stretch = max(1, math.ceil(len(values) / MOST_RATES))
    return [fmean(values[at : at + stretch]) for at in range(0, len(values), stretch)]


def telemetry(case: CaseRecord) -> Document | None:
    """Means over the blocks, and how far they ranged; None where no block was watched."""
    rounds = watched_of(case)
    blocks = [block for blocks in rounds.values() for block in blocks]
    if not blocks:
        return None
    return {
        "rounds": len(rounds),
        "cores": cores_of(case),
        "worker_cores": fmean(block.worker_cores for block in blocks),
        "other_cores": load(blocks, lambda block: block.other_cores),
        "stolen_cores": load(blocks, lambda block: block.stolen_cores),
        "available_memory_bytes": min(block.available_bytes for block in blocks),
        "swapped_bytes": total(blocks, lambda block: block.swapped_bytes),
        "page_faults_per_second": page_faults(blocks),
        "cpu_limited": mean(blocks, lambda block: block.throttled),
        "cpu_stalled": mean(blocks, lambda block: block.cpu_stalled),
        "memory_stalled": mean(blocks, lambda block: block.memory_stalled),
        "io_stalled": mean(blocks, lambda block: block.io_stalled),
        "cpu_mhz": spread(blocks, lambda block: block.mhz),
        "pace_nanoseconds": ends(list(paces_of(case).values())),
        "gpu": gpu(blocks),
    }


def gpu(blocks: Sequence[Usage]) -> Document | None:
    """The GPU's part; None where none was watched."""
    if all(block.gpu_celsius is None and block.gpu_mhz is None for block in blocks):
        return None
    seen = [block.gpu_slowed_by for block in blocks if block.gpu_slowed_by is not None]
    reasons = sorted({reason for slowed_by in seen for reason in slowed_by})
    return {
        "utilization": mean(blocks, lambda block: block.gpu_utilization),
        "power_watts": spread(blocks, lambda block: block.gpu_watts),
        "sm_mhz": spread(blocks, lambda block: block.gpu_mhz),
        "highest_celsius": max(
            (block.gpu_celsius for block in blocks if block.gpu_celsius is not None), default=None
        ),
        "slowed_by": {
            reason: sum(reason in slowed_by for slowed_by in seen) / len(seen) for reason in reasons
        },
    }


def device_memory(case: CaseRecord) -> int | None:
    """Most memory that a process held on the device during its blocks, by the device's driver."""
    blocks = [block for found in watched_of(case).values() for block in found]
    return max((b.gpu_bytes for b in blocks if b.gpu_bytes is not None), default=None)


def energy(case: CaseRecord) -> Document | None:
    """What a sample costs, of the device that computes; None where nothing meters it."""
    on_cpu = case.axes.device == "cpu"
    joules, seconds, samples = 0.0, 0.0, 0
    for process in case.processes.values():
        for seen in process.watched:
            found = seen.usage
            spent = found and (found.joules if on_cpu else found.gpu_joules)
            if found and spent:
                joules += spent
                seconds += found.seconds
                samples += seen.block.steps * case.axes.samples_per_step
    if not samples:
        return None
    return {
        "joules_per_sample": joules / samples,
        "mean_watts": joules / seconds,
        "source": "processor packages (RAPL)" if on_cpu else "GPU (NVML)",
    }


def page_faults(blocks: Sequence[Usage]) -> float | None:
    """Per second of the blocks in which they were counted; None where none were."""
    counted = [block for block in blocks if block.page_faults is not None]
    faults = total(counted, lambda block: block.page_faults)
    return None if faults is None else faults / sum(block.seconds for block in counted)


def known(blocks: Sequence[Usage], read: Callable[[Usage], float | None]) -> list[float]:
    return [value for block in blocks if (value := read(block)) is not None]


def mean(blocks: Sequence[Usage], read: Callable[[Usage], float | None]) -> float | None:
    values = known(blocks, read)
    return fmean(values) if values else None


def total(blocks: Sequence[Usage], read: Callable[[Usage], float | None]) -> float | None:
    values = known(blocks, read)
    return sum(values) if values else None


def load(blocks: Sequence[Usage], read: Callable[[Usage], float | None]) -> Document:
    values = known(blocks, read)
    return {"mean": fmean(values), "highest": max(values)}


def spread(blocks: Sequence[Usage], read: Callable[[Usage], float | None]) -> Document | None:
    return ends(known(blocks, read))


def ends(values: Sequence[float]) -> Document | None:
    if not values:
        return None
    return {"median": median(values), "lowest": min(values), "highest": max(values)}
