"""What is known about one case of a run: its figures, how it ended, and what it ran on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Annotated

from mbench.contract.adapter import FrameworkInfo
from mbench.contract.case import Case
from mbench.contract.metric import THROUGHPUT
from mbench.contract.quantities import (
    Bytes,
    Count,
    Flops,
    FlopsPerSecond,
    Number,
    Relative,
    Seconds,
    Share,
    Steps,
)
from mbench.contract.reading import Quantity
from mbench.results.calibration import Calibration
from mbench.results.ceiling import Ceiling, MemoryRead, Operator, data_sheet, memory_read, mfu
from mbench.results.changes import BEGUN
from mbench.results.encoding import record_of
from mbench.results.evidence import Rounding
from mbench.results.facts import EnvironmentRecord, NodeRecord
from mbench.results.figures import (
    Bandwidth,
    Figure,
    StepTimes,
    Throughput,
    bandwidth,
    level,
    step_times,
    throughput,
)
from mbench.results.inputs import InputSummary, input_summary
from mbench.results.machine import Energy, Telemetry, device_memory, energy, telemetry
from mbench.results.metrics import metrics_of
from mbench.results.proof import ProofRecord
from mbench.results.rounding import rounding_after

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mbench.results.examined import Examined
    from mbench.results.records import CaseRecord, Process

__all__ = ["INTERRUPTED", "CaseSummary", "Disturbed", "RankTimes", "WarmupSummary", "analyse_case"]

INTERRUPTED = "interrupted before its first round"
"""The reason given for a case that the run did not reach."""


@dataclass(frozen=True, kw_only=True)
class Disturbed:
    """What disturbed a case."""

    kind: str
    """`other-load`, `stolen-cpu`, `cpu-limit`, `memory`, `swap`, `cpu-clock`, `gpu-clock`,
    `gpu-others`, `gpu-slowdown`, `pace`, `memory-pace`, `warm-up`."""
    host: str
    """The machine that it happened on; empty for the one that ran mbench."""
    share: Annotated[float, Quantity("of the rounds in which it could be seen")]
    """Share of the rounds that were disturbed."""
    text: str
    """A sentence that describes the disturbance."""
    says: str = field(metadata={"internal": True})
    """The same sentence with placeholders for values."""
    values: Sequence[float] = field(metadata={"internal": True})
    """The values for the placeholders."""


@dataclass(frozen=True, kw_only=True)
class WarmupSummary:
    """The warm-up of the first process."""

    steps: Steps
    """Warm-up steps, including the first step."""
    reason: str
    """Why warm-up ended."""


@dataclass(frozen=True, kw_only=True)
class RankTimes:
    """How much the ranks' times for the same block differ."""

    spread: Relative
    """How much longer the slowest rank takes than the fastest; median over blocks."""
    slowest: list[float]
    """Share of the blocks in which each rank was the slowest."""


@dataclass(frozen=True, kw_only=True)
class CaseSummary:
    """A case: what it is, how it ended, and its figures where there are any."""

    framework: str
    """The adapter's name: `torch`."""
    framework_title: str
    """How the framework writes its own name: `PyTorch`."""
    label: str
    """The [arm](glossary.md#what-is-measured): `torch==2.12.0`, `torch:inductor`; numbered where
    given twice: `torch#2`."""
    spec: str
    """The framework as it was given, without settings: `torch`."""
    version: str | None
    """Framework version that the worker reported; null if no worker started."""
    axes: Case = field(metadata={"flat": "axis"})
    """Each of the [axes](#axes)."""
    seed: int
    """Seed for weights and data."""
    devices: Count
    """Number of devices that the case uses."""
    global_batch_size: Annotated[int, Quantity("samples")]
    """Batch size of a step, on all devices together."""
    standard: bool
    """Whether the model has its published sizes."""
    outcome: str
    """See [Outcomes](methodology.md#outcomes)."""
    reason: str
    """Why the outcome is not `ok`; else empty."""
    log: str | None
    """File with the worker's output, if a worker fell short; its path is as seen from where mbench
    ran."""
    throughput: Throughput | None
    """Null where no block was measured."""
    step_time_ms: StepTimes | None
    """Null where no block was measured."""
    metrics: dict[str, Figure]
    """Every metric that has a value, by its name."""
    metrics_lacking: dict[str, str]
    """Why the other metrics have no value, by name; empty if nothing was measured."""
    first_step_seconds: Seconds | None
    """Duration of a process's first step, including compilation; median over processes."""
    first_loss: float | None
    """Loss of the first step as timed, from the canonical weights; null for inference."""
    peak_memory_bytes: Bytes | None
    """Largest peak of all processes since the warm-up: on the CPU, of the process; on a GPU, by the
    framework's own allocator. Null if no process reached its end, or if the framework does not
    report it."""
    warmup_peak_memory_bytes: Bytes | None
    """The allocator's peak while the case warmed up; null where that peak cannot be reset."""
    device_memory_bytes: Bytes | None
    """The most memory that a process held on the GPU during its blocks, according to NVML. This
    includes the driver's own memory for the process and whatever its allocator keeps. Null on the
    CPU, and where processes cannot be seen."""
    synchronize_seconds: Seconds | None
    """How long synchronizing takes when there is nothing left to wait for. This is the framework's
    own share of each step that is timed individually. Median over processes."""
    flops_per_sample: Flops
    """Floating-point operations of one step for one sample, by the workload's formula."""
    masked_flops_per_sample: Flops
    """The part of `flops_per_sample` that a causal mask discards: half of attention's; 0 without
    such a mask."""
    bandwidth: Bandwidth | None
    """For [collectives](scaling.md#collectives), how fast they exchange data; null for everything
    else."""
    ceiling: Ceiling | None
    """[What the machine can do at most](methodology.md#mfu-and-the-machines-ceiling) with this
    framework; null if it was not measured."""
    peak_flops_per_second: FlopsPerSecond | None
    """Rate of the fastest matrix product that any framework of the run reached in this precision,
    on this device, with the same number of threads."""
    data_sheet_flops_per_second: FlopsPerSecond | None
    """What the GPU's maker specifies for dense products of this type; null if that is not known."""
    mfu: Share | None
    """Model FLOPs utilisation: `flops_per_sample` times throughput, as a share of that peak. With
    `--flops causal`, `masked_flops_per_sample` is subtracted first."""
    flops_convention: str | None
    """How causal attention counts in the MFU: `whole` or `causal`; null for a model without it."""
    memory_read: MemoryRead | None
    """For `decode`, how fast weights and cache are read; null for everything else."""
    operator: Operator | None
    """For an [operator](explain.md#operators), its [work and its share of the
    roofline](methodology.md#operators-and-the-roofline); null for a model."""
    calibration: Calibration | None
    """The case measured against itself on this machine, if `mbench calibrate` had done so before
    the run."""
    warmup: WarmupSummary | None
    """Warm-up of the first process."""
    ranks: RankTimes | None
    """How much the ranks' times differ; null if there is only one rank."""
    processes: Number
    """Processes that finished warming up."""
    rounds: Number
    """Rounds of all processes together."""
    telemetry: Telemetry | None
    """What the machine did during the blocks; null if no block was watched."""
    energy: Energy | None
    """Energy that the blocks used; null if nothing measures it."""
    disturbances: list[Disturbed]
    """What [disturbed](methodology.md#disturbed-measurements) the case; empty where nothing did."""
    distorted: Share
    """Share of the rounds in which a disturbance was so strong that it may have
    [distorted](methodology.md#disturbed-measurements) the case's figures."""
    nodes: list[NodeRecord]
    """The machines that computed, if a launcher started processes on other machines; else empty."""
    differences: list[str]
    """What the framework does its own way."""
    input: InputSummary | None
    """What the case's [input pipeline](input.md) does to it, if batches come from files; else
    null."""
    equal_work: ProofRecord | None
    """The proof of equal work; null if none was made."""
    batches: Count | None
    """Batches on the device, which steps use in turn; null if no process finished warming up."""
    rounding: Rounding | None
    """How far [rounding alone](equal-work.md#how-far-rounding-carries) carries the first steps
    apart; null if nothing had to be explained by it."""
    doubts: list[str]
    """What [speaks against](equal-work.md#at-the-size-that-is-timed) the work of the timed
    processes; empty where nothing does."""
    unchecked: list[str]
    """What could not be checked about its time and speed, because there were too few blocks or no
    matrix product was timed; empty if everything was checked."""
    framework_info: FrameworkInfo | None
    """What the worker reported about the framework; null if no worker started."""
    environment: EnvironmentRecord | None
    """Where the worker ran; null where there was no environment."""


def analyse_case(examined: Examined) -> CaseSummary:
    """One case: what it is, how it ended, and its figures if there are any."""
    run, case = examined.run, examined.record
    planned, protocol, ended = case.planned, run.protocol, case.outcome
    processes = list(case.processes.values())
    first = processes[0].warm if processes else None
    measured = any(process.blocks for process in processes)
    whole = run.end is not None and run.end.status == "complete"
    unmeasured = ("failed", "no rounds") if whole else ("not-measured", INTERRUPTED)
    metrics, lacking = figures_of(examined)
    speed = throughput(case, level=level(protocol), steps=examined.steps(THROUGHPUT))
    highest = examined.peak
    convention = run.header.experiment.checks.flops
    return CaseSummary(
        framework=planned.framework,
        framework_title=planned.framework_title,
        label=planned.label,
        spec=planned.spec,
        version=case.info.version if case.info else None,
        axes=case.axes,
        seed=case.axes.seed,
        devices=case.axes.devices,
        global_batch_size=case.axes.samples_per_step,
        standard=planned.standard,
        outcome=ended.outcome if ended else "ok" if measured else unmeasured[0],
        reason=ended.reason if ended else "" if measured else unmeasured[1],
        log=ended.log if ended else None,
        throughput=speed,
        step_time_ms=step_times(case, by_epoch=protocol.percentiles_by_epoch),
        metrics=metrics,
        metrics_lacking=lacking if measured else {},
        first_step_seconds=median(p.warm.first_step_nanoseconds for p in processes) / 1e9
        if processes
        else None,
        first_loss=first.first_loss if first else None,
        peak_memory_bytes=most(p.peak_bytes for p in processes),
        warmup_peak_memory_bytes=most(p.warm.warmup_peak_bytes for p in processes),
        device_memory_bytes=device_memory(case),
        synchronize_seconds=waiting(processes),
        flops_per_sample=planned.flops_per_sample,
        masked_flops_per_sample=planned.masked_flops_per_sample,
        bandwidth=bandwidth(case, speed),
        ceiling=examined.peaks.ceiling(case),
        peak_flops_per_second=highest,
        data_sheet_flops_per_second=data_sheet(case),
        mfu=mfu(case, speed.value, highest, flops=convention) if speed else None,
        flops_convention=convention if planned.masked_flops_per_sample else None,
        memory_read=memory_read(case, speed.value if speed else None, examined.peaks.memory(case)),
        operator=examined.peaks.operator(case, speed.value if speed else None),
        calibration=case.calibration and record_of(Calibration, case.calibration),
        warmup=WarmupSummary(
            steps=1 + sum(count for count, _ in first.warmup_blocks), reason=first.warmup_reason
        )
        if first
        else None,
        ranks=ranks(case),
        processes=len(processes),
        rounds=len({(b.process, b.round) for p in processes for b in p.blocks}),
        telemetry=telemetry(case),
        energy=energy(case),
        disturbances=[
            Disturbed(
                kind=found.kind,
                host=found.host,
                share=found.share,
                text=found.text,
                says=found.says,
                values=found.values,
            )
            for found in examined.disturbances
        ],
        distorted=distorted(examined),
        nodes=[record_of(NodeRecord, node) for node in case.nodes.values()],
        differences=first.differences if first else [],
        input=input_summary(run, case, level=level(protocol)),
        equal_work=case.equal_work and record_of(ProofRecord, case.equal_work),
        batches=first.batches if first else None,
        rounding=rounding_after(case, BEGUN),
        doubts=examined.doubts,
        unchecked=examined.unchecked if measured else [],
        framework_info=case.info and record_of(FrameworkInfo, case.info),
        environment=case.environment and record_of(EnvironmentRecord, case.environment),
    )


def figures_of(examined: Examined) -> tuple[dict[str, Figure], dict[str, str]]:
    """The metrics of a case by name, and why some have no value."""
    confidence = level(examined.run.protocol)
    found, lacking = {}, {}
    for metric in metrics_of(examined.record.axes):
        steps = examined.steps(metric)
        if figure := steps.figure(level=confidence):
            found[metric.name] = figure
        else:
            lacking[metric.name] = steps.lacking(examined.record.axes.mode)
    return found, lacking


def distorted(examined: Examined) -> float:
    """The share of a case's rounds in which something may have distorted its figures."""
    rounds = {(n, b.round) for n, p in examined.record.processes.items() for b in p.blocks}
    hit = {turn for one in examined.disturbances for turn in one.distorting}
    return len(rounds & hit) / len(rounds) if rounds else 0.0


def most(values: Iterable[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)


def ranks(case: CaseRecord) -> RankTimes | None:
    """How much ranks' times for the same block differ (median over blocks), and how often each rank
    was the slowest; None if there is only one rank.
    """
    blocks = [b for p in case.processes.values() for b in p.blocks if b.ranks]
    if not blocks:
        return None
    times = [[sum(of_rank) for of_rank in block.ranks] for block in blocks]
    slowest = [one.index(max(one)) for one in times]
    count = case.axes.devices
    return RankTimes(
        spread=median(max(one) / min(one) - 1 for one in times),
        slowest=[slowest.count(rank) / len(times) for rank in range(count)],
    )


def waiting(processes: Sequence[Process]) -> float | None:
    """How long `synchronize` takes if nothing is left to wait for; median over processes."""
    waits = [p.warm.synchronize_nanoseconds for p in processes]
    known = [value for value in waits if value is not None]
    return median(known) / 1e9 if known else None
