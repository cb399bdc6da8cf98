"""If batches come from files: the step alone, its pipeline alone, both, and how long steps wait."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from mbench import stats
from mbench.contract.feed import RESIDENT, feed_of
from mbench.contract.quantities import Seconds
from mbench.contract.reading import Quantity
from mbench.results.encoding import record_of
from mbench.results.figures import Figure, center, timed
from mbench.results.pixels import PIPELINE, STEP, DataSetRecord, PixelRecord

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.results.records import CaseRecord, Process, Run

__all__ = ["InputSummary", "Stall", "input_summary"]

Part = Annotated[float, Quantity("share", least=-1e9)]


@dataclass(frozen=True, kw_only=True)
class Stall:
    """The share of their time for which steps on files wait for images: 1 minus the time of the
    same steps on resident batches, as a share of their time on files. Noise makes it negative if
    steps do not wait.
    """

    value: Part
    """The centre of the processes."""
    low: Part | None
    """Lower end of its 95 % interval over processes; null with fewer than three."""
    high: Part | None
    """Upper end."""


@dataclass(frozen=True, kw_only=True)
class InputSummary:
    """What a case's [input pipeline](input.md) does to it."""

    data: DataSetRecord | None
    """The files."""
    pixels: PixelRecord | None
    """What the pipeline makes of known images; null if that was not checked."""
    step: Figure | None
    """Samples per second of steps alone, on resident batches; measured alongside the others."""
    pipeline: Figure | None
    """Samples per second of the pipeline alone, whose batches no step uses."""
    stall: Stall | None
    """How long steps wait for the pipeline; null if the parts were not measured."""
    cpu_seconds_per_sample: Seconds | None
    """Processor time of step and pipeline per sample, including loader processes; null if it was
    not measured."""
    pipeline_cpu_seconds_per_sample: Seconds | None
    """Processor time of the pipeline alone per sample; null if it was not measured."""
    unit: str = field(metadata={"internal": True})


def input_summary(run: Run, case: CaseRecord, *, level: float | None) -> InputSummary | None:
    """The summary of a case's input; None if batches stay on the device."""
    if feed_of(case.axes.data) == RESIDENT:
        return None
    unit = f"{case.planned.samples}/s"
    data = run.comparisons[case.planned.comparison].data
    rates = {part: rates_of(case, part) for part in (STEP, PIPELINE)}
    return InputSummary(
        data=record_of(DataSetRecord, data) if data else None,
        pixels=record_of(PixelRecord, case.pixels) if case.pixels else None,
        step=figure_of(rates[STEP], unit, level=level),
        pipeline=figure_of(rates[PIPELINE], unit, level=level),
        stall=stall(case, rates[STEP], level=level),
        cpu_seconds_per_sample=spent(case),
        pipeline_cpu_seconds_per_sample=spent_alone(case),
        unit=unit,
    )


def rates_of(case: CaseRecord, part: str) -> dict[int, float]:
    """Samples per second of a part, by process."""
    found = {}
    for number, process in case.processes.items():
        blocks = [one for one in process.parts if one.part == part]
        if blocks:
            seconds = sum(one.nanoseconds for one in blocks) / 1e9
            found[number] = sum(one.steps for one in blocks) * case.samples_per_step / seconds
    return found


def both(case: CaseRecord, process: Process) -> float | None:
    """Samples per second of steps on batches from files."""
    blocks = timed(process)
    seconds = sum(sum(one.nanoseconds) for one in blocks) / 1e9
    return sum(one.steps for one in blocks) * case.samples_per_step / seconds if blocks else None


def figure_of(rates: Mapping[int, float], unit: str, *, level: float | None) -> Figure | None:
    values = list(rates.values())
    if not values:
        return None
    found = center(values, level=level)
    return Figure(value=found.value, low=found.low, high=found.high, unit=unit, processes=values)


def stall(case: CaseRecord, step: Mapping[int, float], *, level: float | None) -> Stall | None:
    """The stall, computed from the ratio of both rates in each process, so that a process's own
    offset cancels out.
    """
    ratios = []
    for number, alone in step.items():
        rate = both(case, case.processes[number])
        if rate:
            ratios.append(rate / alone)
    if not ratios:
        return None
    found = stats.geometric_interval(ratios, confidence=level or stats.CONFIDENCE)
    low = None if found.high is None else 1 - found.high
    high = None if found.low is None else 1 - found.low
    return Stall(value=1 - found.value, low=low, high=high)


def spent(case: CaseRecord) -> float | None:
    """Processor seconds per sample in blocks of step and pipeline."""
    seconds, samples = 0.0, 0
    for process in case.processes.values():
        for one in process.watched:
            if not one.block.each:
                seconds += one.worker_seconds[1] - one.worker_seconds[0]
                samples += one.block.steps * case.samples_per_step
    return seconds / samples if samples else None


def spent_alone(case: CaseRecord) -> float | None:
    seconds, samples = 0.0, 0
    for process in case.processes.values():
        for one in process.parts:
            if one.part == PIPELINE and one.worker_seconds is not None:
                seconds += one.worker_seconds
                samples += one.steps * case.samples_per_step
    return seconds / samples if samples else None
