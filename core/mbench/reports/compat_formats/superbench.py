"""SuperBench's metrics: a line of results-summary.jsonl, or a baseline.

Names: model-benchmarks/<framework>-<model>/<precision>_<train|inference>_<step_time|throughput>,
with the suffixes _50, _90, _95, _99, _99.9 for inference, and return_code beside them. Cases that
would share a name are distinguished by SuperBench's own annotation, model-benchmarks:<words>/.
Operators that SuperBench measures too have the names of its micro-benchmarks. Others are under
mbench-operators/, so no number can be mistaken for one of SuperBench's with another meaning.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from mbench.contract.axes import AXES, alike, key
from mbench.reports.cases import axes_of
from mbench.reports.compat_formats import throughput
from mbench.reports.grid import Grid, write
from mbench.stats import PERCENTILES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rich.console import RenderableType

    from mbench.machine.disk.measure import DiskSummary
    from mbench.results.case_summary import CaseSummary
    from mbench.results.summary import Summary

__all__ = ["disk_metrics", "metrics", "render", "written"]

OK, EXCEPTION, TIMEOUT = 0, 4, 124
MATMUL = "op:matmul/12288x12288x16000"
"""What SuperBench's benchmark matmul multiplies: in fp32, each step by itself."""
SHARDED = {
    "op:matmul_all_reduce/12288x12288x16000": "allreduce",
    "op:matmul_all_gather/12288x12288x16000": "allgather",
}
"""The same product by several GPUs (sharding_matmul.py)."""
NCCL, BYTES = "nccl", 4
"""What a framework's details call NCCL if it moves the bytes, and the bytes of an fp32 number."""
COLLECTIVES = {
    "op:all_reduce": "allreduce",
    "op:all_gather": "allgather",
    "op:broadcast": "broadcast",
    "op:reduce": "reduce",
    "op:reduce_scatter": "reducescatter",
}
"""Those of SuperBench's nccl-bw, which has no sends. A message is as large as nccl-tests counts
it."""
SPREAD = ("op:all_gather", "op:reduce_scatter")
"""Collectives whose message holds the elements of all ranks."""
GEMM = "op:matmul/16384x16384x16384"
GEMM_FLOPS = {"fp32": "fp32_flops", "tf32": "tf32_tc_flops", "bf16": "bf16_tc_flops"}
"""Metrics of gemm-flops by precision. SuperBench's fp16_tc accumulates in half precision, as no
framework does. Whether a framework's fp64 uses tensor cores is unknown."""


@dataclass(frozen=True)
class Naming:
    """Names of the metrics of a case: <benchmark>/<stem>/<series>_<figure>, some without a stem or
    a figure's name.
    """

    benchmark: str
    stem: str
    series: str
    figures: Callable[[CaseSummary], dict[str, float]]

    def prefix(self, words: str) -> str:
        """What the names of its metrics begin with; `words` annotate the benchmark."""
        annotated = f"{self.benchmark}:{words}" if words else self.benchmark
        return f"{annotated}/{self.stem}/" if self.stem else f"{annotated}/"


def render(summary: Summary, /, *, format_: str) -> RenderableType:
    """jsonl: the summary of this node; json: a baseline; else the metrics as a table."""
    node = summary.system.hostname or summary.run
    return written(metrics(summary), node=node, format_=format_)


def written(found: Mapping[str, float | int], *, node: str, format_: str) -> RenderableType:
    """Metrics by their full names, in one of the formats."""
    if format_ == "jsonl":
        return json.dumps({**found, "node": node}, allow_nan=False) + "\n"
    if format_ == "json":
        return json.dumps(found, indent=2, allow_nan=False) + "\n"
    rows = [[name, value] for name, value in found.items()]
    return write([Grid("SuperBench metrics", ("metric", "value"), rows)], format_=format_)


def metrics(summary: Summary) -> dict[str, float | int]:
    """Every metric by its full name. Step times are in ms, throughput in samples/s."""
    cases = summary.cases
    namings = [naming(case) for case in cases]
    found: dict[str, float | int] = {}
    for case, its in zip(cases, namings, strict=True):
        rivals = [other for other, that in zip(cases, namings, strict=True) if that == its]
        prefix = its.prefix(annotation(case, rivals))
        code = f"{prefix}return_code"
        found[code] = max(found.get(code, OK), return_code(case.outcome))
        for name, value in its.figures(case).items():
            found[prefix + "_".join(filter(None, (its.series, name)))] = value
    return found


def naming(case: CaseSummary) -> Naming:
    """SuperBench's names for what it measures too; other operators are in mbench-operators."""
    framework, axes = case.framework_title.lower(), case.axes
    model, precision, series = axes.model, axes.precision, f"{axes.precision}_{axes.mode}"
    if case.operator is None:
        return Naming("model-benchmarks", f"{framework}-{model}", series, values)
    on_gpus, inference = axes.device == "cuda" and axes.batch_size == 1, axes.mode == "inference"
    if on_gpus and inference and case.devices == 1:
        if model == MATMUL and precision == "fp32":
            return Naming(f"{framework}-matmul", "", "nosharding", mean_time)
        if model == GEMM and precision in GEMM_FLOPS:
            return Naming("gemm-flops", "", GEMM_FLOPS[precision], gflops)
    if on_gpus and precision == "fp32":
        if way := SHARDED.get(whole(case)):
            return Naming(f"{framework}-sharding-matmul", "", way, mean_time)
        kind, _, elements = model.partition("/")
        if inference and by_nccl(case) and kind in COLLECTIVES and case.devices > 1:
            size = BYTES * int(elements) * (case.devices if kind in SPREAD else 1)
            return Naming("nccl-bw", "", f"{COLLECTIVES[kind]}_{size}", bandwidths)
    name = model.partition(":")[2].replace("/", "_")
    return Naming("mbench-operators", f"{framework}-{name}", series, values)


def by_nccl(case: CaseSummary) -> bool:
    """Whether NCCL exchanges the data, and not an implementation of the framework's own."""
    info = case.framework_info
    return info is not None and info.details.get("collectives") == NCCL


def whole(case: CaseSummary) -> str:
    """A sharded matmul's name with the sizes of all ranks together, not of one; else empty."""
    kind, _, sizes = case.axes.model.partition("/")
    along = {"op:matmul_all_reduce": 1, "op:matmul_all_gather": 0}.get(kind)
    if along is None:
        return ""
    dims = [int(size) for size in sizes.split("x")]
    dims[along] *= case.devices
    return f"{kind}/{'x'.join(map(str, dims))}"


def mean_time(case: CaseSummary) -> dict[str, float]:
    """Mean time of a step, in ms."""
    times = case.step_time_ms
    return {} if throughput(case) is None or times is None else {"time": times.mean}


def bandwidths(case: CaseSummary) -> dict[str, float]:
    """Bus and algorithm bandwidth in GB/s, and the time of a call in us."""
    found = case.bandwidth
    if throughput(case) is None or found is None:
        return {}
    rate = found.algorithm_bytes_per_second
    return {
        "busbw": found.bus_bytes_per_second / 1e9,
        "algbw": rate / 1e9,
        "time": 1e6 * found.message_bytes / rate,
    }


def gflops(case: CaseSummary) -> dict[str, float]:
    """GFLOP/s, under an empty name."""
    rate = throughput(case)
    return {} if rate is None else {"": rate * case.flops_per_sample / 1e9}


def annotation(case: CaseSummary, rivals: list[CaseSummary]) -> str:
    """What tells a case from the others in `rivals`, all of one name; empty if there are none."""
    words = []
    if any(other.label != case.label for other in rivals):
        words.append(case.label)
    if any(other.devices != case.devices for other in rivals):
        words.append(f"devices-{case.devices}")
    same = alike(axes_of(rivals))
    for axis in AXES:
        in_label = axis.name in same or axis.name == "variables"  # which a label says
        if not in_label and (value := axis.value(case.axes)) is not None:
            words.append(f"{axis.name.replace('_', '-')}-{value}")
    at = next(number for number, other in enumerate(rivals) if other is case)
    twins = [o for o in rivals if o.label == case.label and key(o.axes) == key(case.axes)]
    if len(twins) > 1:  # the default compiler, and the same one by its name
        words.append(str(at + 1))
    return "-".join(words).translate({ord("/"): "-", ord(":"): "-"})


def return_code(outcome: str) -> int:
    """SuperBench's return code for the outcome of a case, or of a job."""
    return {"ok": OK, "timeout": TIMEOUT}.get(outcome, EXCEPTION)


def values(case: CaseSummary) -> dict[str, float]:
    """Step time and throughput; in inference their percentiles too.

    The throughput of a percentile is that of its step time, so it falls as the rank rises.
    """
    rate, times = throughput(case), case.step_time_ms
    if rate is None or times is None:
        return {}
    found = {"step_time": times.mean, "throughput": rate}
    if case.axes.mode == "inference":
        for rank in PERCENTILES:
            milliseconds = times.percentiles[f"p{rank:g}"]
            if milliseconds is not None:
                found[f"step_time_{rank:g}"] = milliseconds
                found[f"throughput_{rank:g}"] = case.global_batch_size * 1e3 / milliseconds
    return found


DISK = "disk-benchmark"
DISK_RANKS = {"p95": "95.0", "p99": "99.0", "p99.9": "99.9"}


def disk_metrics(summary: DiskSummary) -> dict[str, float | int]:
    """The figures of a disk, by the names of SuperBench's disk-benchmark: <device>_<job>_bs in
    bytes; for each direction <read|write>_iops, and lat_ns_<rank> in ns.
    """
    device = PurePosixPath(summary.mount.device if summary.mount else "unknown").name
    codes = [return_code(job.outcome) for job in summary.jobs]
    found: dict[str, float | int] = {f"{DISK}/return_code": max(codes, default=OK)}
    for job in summary.jobs:
        stem = f"{DISK}/{device}_{job.name}"
        if job.figures:
            found[f"{stem}_bs"] = job.block_bytes
        for direction, figures in job.figures.items():
            found[f"{stem}_{direction}_iops"] = figures.operations_per_second.value
            for rank, name in DISK_RANKS.items():
                if latency := figures.latency_nanoseconds.get(rank):
                    found[f"{stem}_{direction}_lat_ns_{name}"] = latency.value
    return found
