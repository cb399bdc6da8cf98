"""What the machine did while a case was measured, computed from the samples of its blocks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING, Annotated

from mbench import stats
from mbench.contract.device import HOST
from mbench.contract.quantities import (
    Bytes,
    Celsius,
    Cores,
    Count,
    Joules,
    Number,
    PerSecond,
    TimeShare,
    Watts,
)
from mbench.contract.reading import Quantity
from mbench.machine.disturbances import WARM_UP, Disturbance, find_disturbances, pace_changes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mbench.machine.usage import Usage
    from mbench.results.events import Block
    from mbench.results.records import CaseRecord, Run, Watched

__all__ = ["Energy", "GpuTelemetry", "Load", "Range", "Telemetry", "UsualPaces", "device_memory",
           "disturbances", "energy", "joules", "telemetry", "usual_paces"]  # fmt: skip

PACES = ("pace", "memory-pace")
UsualPaces = Mapping[tuple[str, str], float]
"""The usual paces, by host and kind."""

WARMING_CHANCE = 0.01
"""The share of cases in which noise alone may look like warming up."""
MOST_RATES = 300
"""Most rates of a process by which a trend is judged; rounds are rarely as many."""
WARMING_CHANGE = 0.01
"""The smallest relative change that is reported."""


@dataclass(frozen=True, kw_only=True)
class Load:
    """Cores that were in use during blocks."""

    mean: Cores
    """Mean over all blocks."""
    highest: Cores
    """Cores in the block that used the most."""


@dataclass(frozen=True, kw_only=True)
class Range:
    """The range of a figure over blocks, or over turns."""

    median: float
    """Median of all."""
    lowest: float
    """The lowest of all."""
    highest: float
    """The highest of all."""


@dataclass(frozen=True, kw_only=True)
class GpuTelemetry:
    """What a GPU did during the blocks."""

    utilization: TimeShare | None
    """Share of the time in which a kernel ran."""
    power_watts: Annotated[Range, Quantity("W")] | None
    """Power."""
    sm_mhz: Annotated[Range, Quantity("MHz")] | None
    """Clock of the multiprocessors."""
    highest_celsius: Celsius | None
    """The highest temperature that was seen."""
    slowed_by: dict[str, Annotated[float, Quantity("of the blocks in which it was looked at")]]
    """Share of the blocks, for each reason why the GPU's clock was lower than it could be: `power
    cap`, `heat, by the driver`, ..."""


@dataclass(frozen=True, kw_only=True)
class Telemetry:
    """What the machine did during the blocks."""

    rounds: Number
    """Rounds that were watched."""
    cores: Count
    """Logical cores that the worker may use."""
    worker_cores: Cores
    """Cores that the worker used, on average."""
    other_cores: Load
    """Cores that everything else used: the processor time of the worker's cores less its own."""
    stolen_cores: Load
    """Cores that the hypervisor gave to other machines."""
    available_memory_bytes: Bytes
    """The least available memory that was seen."""
    swapped_bytes: Bytes | None
    """What the whole machine swapped during all blocks, in and out together."""
    page_faults_per_second: PerSecond | None
    """Pages that the kernel gave to the worker. A framework that returns memory takes it again at
    each step."""
    cpu_limited: TimeShare | None
    """Share of the time during which a cgroup's limit held processes up."""
    cpu_stalled: TimeShare | None
    """Share of the time during which some process of the machine, including the worker's threads,
    waited for a core (PSI)."""
    memory_stalled: TimeShare | None
    """Share of the time during which some process waited for memory."""
    io_stalled: TimeShare | None
    """Share of the time during which some process waited for a disk."""
    cpu_mhz: Annotated[Range, Quantity("MHz")] | None
    """Mean clock of the worker's cores."""
    pace_nanoseconds: Annotated[Range, Quantity("ns")] | None
    """Duration of an empty loop of mbench's own before each turn, while all workers were stopped;
    null under a published protocol."""
    memory_pace_nanoseconds: Annotated[Range, Quantity("ns")] | None
    """Duration of a copy of mbench's own through memory before each turn, likewise."""
    gpu: GpuTelemetry | None
    """Null on the CPU, and where NVML does not answer."""


@dataclass(frozen=True, kw_only=True)
class Energy:
    """Energy that the blocks used."""

    joules_per_sample: Joules
    """Energy of the device that computes; on the CPU, of all processor packages."""
    mean_watts: Watts
    """Mean power of that device, or of those packages."""
    source: str
    """What measured it."""


def seen_of(case: CaseRecord) -> dict[str, list[Watched]]:
    """What was seen of each machine, by its host."""
    found: dict[str, list[Watched]] = {}
    for process in case.processes.values():
        for seen in process.watched:
            found.setdefault(seen.host, []).append(seen)
    return found


def rounds_of(watched: Sequence[Watched]) -> dict[tuple[int, int], list[Usage]]:
    """One machine's usage during blocks, by process and round."""
    rounds: dict[tuple[int, int], list[Usage]] = {}
    for seen in watched:
        if seen.usage is not None:
            rounds.setdefault(seen.time_slice, []).append(seen.usage)
    return rounds


def paces_of(watched: Iterable[Watched], kind: str) -> Iterator[tuple[tuple[int, int], int]]:
    """A pace in nanoseconds before each turn in which all workers were stopped."""
    for seen in watched:
        pace = seen.memory_pace if kind == "memory-pace" else seen.pace
        if pace is not None:
            yield seen.time_slice, pace


def cores_of(watched: Iterable[Watched]) -> int:
    """The number of logical cores that workers may use: the fewest, if they differ."""
    return min(seen.cores for seen in watched)


def usual_paces(cases: Iterable[CaseRecord]) -> UsualPaces:
    """The median of each kind of pace on each host, over the turns of all `cases`."""
    found: dict[tuple[str, str], list[int]] = {}
    for case in cases:
        for host, watched in seen_of(case).items():
            for kind in PACES:
                paces = [pace for _, pace in paces_of(watched, kind)]
                if paces:
                    found.setdefault((host, kind), []).extend(paces)
    return {key: median(paces) for key, paces in found.items()}


def disturbances(run: Run, case: CaseRecord, usual: UsualPaces) -> list[Disturbance]:
    """What disturbed `case`, on any of its machines. Each machine is judged by itself, and its
    paces against those that are `usual` there.
    """
    found = warming(case)
    for host, watched in seen_of(case).items():
        found += [one.on(host) for one in disturbances_on(run, case, watched, usual)]
    return found


def disturbances_on(
    run: Run, case: CaseRecord, watched: Sequence[Watched], usual: UsualPaces
) -> list[Disturbance]:
    """What disturbed the case on one machine.

    A device needs one of the processor's cores, and the processor's memory matters little to it.
    """
    host = watched[0].host
    found = []
    for kind in PACES if case.axes.device == HOST else PACES[:1]:
        if paces := dict(paces_of(watched, kind)):
            found += pace_changes(kind, paces, usual=usual[host, kind])
    if not (rounds := rounds_of(watched)):
        return found
    cores = cores_of(watched)
    needed = case.axes.threads if case.axes.device == "cpu" else 1
    needed *= case.axes.parsed_scale.devices_per_node
    system = case.nodes[host].system if host in case.nodes else run.header.system
    spare = max(0, min(system.usable_cores, cores) - needed)
    return found + find_disturbances(rounds, cores=cores, spare_cores=spare)


def warming(case: CaseRecord) -> list[Disturbance]:
    """The disturbance if steps still got faster from round to round, so that warm-up ended too
    early.
    """
    rates = [
        thinned([block.steps / block.nanoseconds[0] for block in process.blocks if not block.each])
        for process in case.processes.values()
    ]
    change, chance = stats.trend(rates)
    if chance > WARMING_CHANCE or change < WARMING_CHANGE:
        return []
    says = "steps still got {:.1f} % faster over the rounds of a process"
    return [Disturbance(kind=WARM_UP, share=1.0, says=says, values=(100 * change,))]


def thinned(values: list[float]) -> list[float]:
    """Means over stretches of `values`, few enough to compare all pairs of them."""
    stretch = max(1, math.ceil(len(values) / MOST_RATES))
    return [fmean(values[at : at + stretch]) for at in range(0, len(values), stretch)]


def telemetry(case: CaseRecord) -> Telemetry | None:
    """Means over the blocks on all machines, and their ranges; None if no block was watched."""
    watched = [seen for process in case.processes.values() for seen in process.watched]
    blocks = [seen.usage for seen in watched if seen.usage is not None]
    if not blocks:
        return None
    swapped = total(blocks, lambda block: block.swapped_bytes)
    return Telemetry(
        rounds=len({seen.time_slice for seen in watched if seen.usage is not None}),
        cores=cores_of(watched),
        worker_cores=fmean(block.worker_cores for block in blocks),
        other_cores=load(blocks, lambda block: block.other_cores),
        stolen_cores=load(blocks, lambda block: block.stolen_cores),
        available_memory_bytes=min(block.available_bytes for block in blocks),
        swapped_bytes=None if swapped is None else int(swapped),
        page_faults_per_second=page_faults(blocks),
        cpu_limited=mean(blocks, lambda block: block.throttled),
        cpu_stalled=mean(blocks, lambda block: block.cpu_stalled),
        memory_stalled=mean(blocks, lambda block: block.memory_stalled),
        io_stalled=mean(blocks, lambda block: block.io_stalled),
        cpu_mhz=spread(blocks, lambda block: block.mhz),
        pace_nanoseconds=ends([pace for _, pace in paces_of(watched, "pace")]),
        memory_pace_nanoseconds=ends([pace for _, pace in paces_of(watched, "memory-pace")]),
        gpu=gpu(blocks),
    )


def gpu(blocks: Sequence[Usage]) -> GpuTelemetry | None:
    """What the GPU did; None if none was watched."""
    if all(block.gpu_celsius is None and block.gpu_mhz is None for block in blocks):
        return None
    seen = [block.gpu_slowed_by for block in blocks if block.gpu_slowed_by is not None]
    reasons = sorted({reason for slowed_by in seen for reason in slowed_by})
    return GpuTelemetry(
        utilization=mean(blocks, lambda block: block.gpu_utilization),
        power_watts=spread(blocks, lambda block: block.gpu_watts),
        sm_mhz=spread(blocks, lambda block: block.gpu_mhz),
        highest_celsius=max(
            (block.gpu_celsius for block in blocks if block.gpu_celsius is not None), default=None
        ),
        slowed_by={
            reason: sum(reason in slowed_by for slowed_by in seen) / len(seen) for reason in reasons
        },
    )


def device_memory(case: CaseRecord) -> int | None:
    """The most bytes that a process held on the device during its blocks, by the driver."""
    held = [one.gpu_bytes for _, used in blocks_of(case) for one in used]
    return max((count for count in held if count is not None), default=None)


def spent(case: CaseRecord) -> Iterator[tuple[Block, list[Usage], float]]:
    """Each block during which all devices that compute were metered, and their joules.

    A block in which a counter did not advance counts, since the counter makes up for it in a later
    one. But a counter that never advanced has not measured anything.
    """
    on_cpu, nodes = case.axes.device == "cpu", case.axes.parsed_scale.nodes

    def read(usage: Usage) -> float | None:
        return usage.joules if on_cpu else usage.gpu_joules

    for watched in seen_of(case).values():
        if not any(seen.usage and read(seen.usage) for seen in watched):
            return
    for block, found in blocks_of(case):
        metered = known(found, read)
        if len(found) == len(metered) == nodes:
            yield block, found, sum(metered)


def joules(case: CaseRecord) -> dict[int, float]:
    """The joules of the devices in each metered block, by the block's `id()`: a round may have
    several blocks.
    """
    return {id(block): used for block, _, used in spent(case)}


def energy(case: CaseRecord) -> Energy | None:
    """The energy per sample of the devices that compute; None if not all of them are metered."""
    total, seconds, samples = 0.0, 0.0, 0
    for block, found, used in spent(case):
        total += used
        seconds += fmean(one.seconds for one in found)
        samples += block.steps * case.samples_per_step
    if not samples:
        return None
    return Energy(
        joules_per_sample=total / samples,
        mean_watts=total / seconds,
        source="processor packages (RAPL)" if case.axes.device == "cpu" else "GPU (NVML)",
    )


def blocks_of(case: CaseRecord) -> Iterable[tuple[Block, list[Usage]]]:
    """Each block, and what was used meanwhile on each of its machines, as far as that was seen."""
    found: dict[int, tuple[Block, list[Usage]]] = {}
    for seen in (seen for process in case.processes.values() for seen in process.watched):
        if seen.usage is not None:
            _, used = found.setdefault(id(seen.block), (seen.block, []))
            used.append(seen.usage)
    return found.values()


def page_faults(blocks: Sequence[Usage]) -> float | None:
    """Page faults per second in the blocks in which they were counted; None if they never were."""
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


def load(blocks: Sequence[Usage], read: Callable[[Usage], float | None]) -> Load:
    values = known(blocks, read)
    return Load(mean=fmean(values), highest=max(values))


def spread(blocks: Sequence[Usage], read: Callable[[Usage], float | None]) -> Range | None:
    return ends(known(blocks, read))


def ends(values: Sequence[float]) -> Range | None:
    if not values:
        return None
    return Range(median=median(values), lowest=min(values), highest=max(values))
