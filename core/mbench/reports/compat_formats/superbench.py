"""SuperBench's metrics: a line of results-summary.jsonl, or a baseline.

Names: model-benchmarks/<framework>-<model>/<precision>_<train|inference>_<step_time|throughput>,
with the suffixes _50, _90, _95, _99, _99.9 for inference, and return_code beside them. Cases that
would share a name are told apart by SuperBench's own annotation, model-benchmarks:<words>/.
Operators that SuperBench measures too bear the names of its micro-benchmarks. Others stand under
mbench-operators/, so that no number passes for one of SuperBench's that means something else.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mbench.contract.axes import AXES, alike, key
from mbench.reports.compat_formats.select import Case, devices, throughput
from mbench.reports.grid import Grid, write
from mbench.stats import PERCENTILES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rich.console import RenderableType

__all__ = ["OK", "metrics", "render", "return_code", "written"]

OK, EXCEPTION, TIMEOUT = 0, 4, 124
MATMUL = "op:matmul/12288x12288x16000"
"""What its benchmark matmul multiplies: in fp32, each step by itself."""
SHARDED = {
    "op:matmul_all_reduce/12288x12288x16000": "allreduce",
    "op:matmul_all_gather/12288x12288x16000": "allgather",
}
"""The same product by several GPUs (sharding_matmul.py)."""
NCCL, BYTES = "nccl", 4
"""As a framework's details name what moves the bytes; and those of a number in fp32."""
COLLECTIVES = {
    "op:all_reduce": "allreduce",
    "op:all_gather": "allgather",
    "op:broadcast": "broadcast",
    "op:reduce": "reduce",
    "op:reduce_scatter": "reducescatter",
}
"""Those of its nccl-bw, which has no sends. A message is as large as nccl-tests counts it."""
SPREAD = ("op:all_gather", "op:reduce_scatter")
"""Whose message is of all ranks' elements."""
GEMM = "op:matmul/16384x16384x16384"
GEMM_FLOPS = {"fp32": "fp32_flops", "tf32": "tf32_tc_flops", "bf16": "bf16_tc_flops"}
"""By precision. Its fp16_tc adds up in half precision, as no framework does; whether a framework's
fp64 takes tensor cores is not told."""


@dataclass(frozen=True)
class RankInfo:
    """Where the metrics of a case stand: <benchmark>/<stem>/<series>_<figure>, some without a stem
    or a figure's name.
    """

    benchmark: str
    stem: str
    series: str
    figures: Callable[[Case], dict[str, float]]

    def prefix(self, words: str) -> str:
        """Of its metrics, with an annotation."""
        annotated = f"{self.benchmark}:{words}" if words else self.benchmark
        return f"{annotated}/{self.stem}/" if self.stem else f"{annotated}/"


def render(document: dict[str, Any], /, *, format_: str) -> RenderableType:
    """jsonl: the summary of this node; json: a baseline; else the metrics as a table."""
    node = document["system"].get("hostname") or document["run"]
    return written(metrics(document), node=node, format_=format_)


def written(found: Mapping[str, float | int], *, node: str, format_: str) -> RenderableType:
    """Metrics by their full names, in one of the formats."""
    if format_ == "jsonl":
        return json.dumps({**found, "node": node}, allow_nan=False) + "\n"
    if format_ == "json":
        return json.dumps(found, indent=2, allow_nan=False) + "\n"
    rows: list[list[Any]] = [[name, value] for name, value in found.items()]
    return write([Grid("SuperBench metrics", ("metric", "value"), rows)], format_=format_)


def metrics(document: dict[str, Any]) -> dict[str, float | int]:
    """Every metric by its full name. Step times are in ms, throughput in samples/s."""
    cases = document["cases"]
    places = [place(case) for case in cases]
    found: dict[str, float | int] = {}
    for case, its in zip(cases, places, strict=True):
        rivals = [other for other, that in zip(cases, places, strict=True) if that == its]
        prefix = its.prefix(annotation(case, rivals))
        code = f"{prefix}return_code"
        found[code] = max(found.get(code, OK), return_code(case["outcome"]))
        for name, value in its.figures(case).items():
            found[prefix + "_".join(filter(None, (its.series, name)))] = value
    return found


def place(case: Case) -> RankInfo:
    """SuperBench's for what it measures too."""
    framework, series = case["framework_title"].lower(), f"{case['precision']}_{case['mode']}"
    if case.get("operator") is None:
        return RankInfo("model-benchmarks", f"{framework}-{case['model']}", series, values)
    alone = case["device"] == "cuda" and devices(case) == case["batch_size"] == 1
    if alone and case["mode"] == "inference":
        if case["model"] == MATMUL and case["precision"] == "fp32":
            return RankInfo(f"{framework}-matmul", "", "nosharding", mean_time)
        if case["model"] == GEMM and case["precision"] in GEMM_FLOPS:
            return RankInfo("gemm-flops", "", GEMM_FLOPS[case["precision"]], gflops)
    on_gpus = case["device"] == "cuda" and case["batch_size"] == 1 and case["precision"] == "fp32"
    if on_gpus and (way := SHARDED.get(whole(case))):
        return RankInfo(f"{framework}-sharding-matmul", "", way, mean_time)
    if on_gpus and case["mode"] == "inference" and by_nccl(case):
        kind, _, elements = case["model"].partition("/")
        if kind in COLLECTIVES and devices(case) > 1:
            size = BYTES * int(elements) * (devices(case) if kind in SPREAD else 1)
            return RankInfo("nccl-bw", "", f"{COLLECTIVES[kind]}_{size}", bandwidths)
    name = case["model"].partition(":")[2].replace("/", "_")
    return RankInfo("mbench-operators", f"{framework}-{name}", series, values)


def by_nccl(case: Case) -> bool:
    """Whether it is NCCL that exchanges, and not a means of the framework's own."""
    info = case.get("framework_info") or {}
    return bool(info.get("details", {}).get("collectives") == NCCL)


def whole(case: Case) -> str:
    """An operator whose name has the sizes of all ranks together, where it has those of one."""
    kind, _, sizes = case["model"].partition("/")
    along = {"op:matmul_all_reduce": 1, "op:matmul_all_gather": 0}.get(kind)
    if along is None:
        return ""
    dims = [int(size) for size in sizes.split("x")]
    dims[along] *= devices(case)
    return f"{kind}/{'x'.join(map(str, dims))}"


def mean_time(case: Case) -> dict[str, float]:
    """Of a step, in ms."""
    return {} if throughput(case) is None else {"time": case["step_time_ms"]["mean"]}


def bandwidths(case: Case) -> dict[str, float]:
    """In GB/s, and the time of a call in us."""
    found = case.get("bandwidth")
    if throughput(case) is None or not found:
        return {}
    rate = found["algorithm_bytes_per_second"]
    return {
        "busbw": found["bus_bytes_per_second"] / 1e9,
        "algbw": rate / 1e9,
        "time": 1e6 * found["message_bytes"] / rate,
    }


def gflops(case: Case) -> dict[str, float]:
    """GFLOP/s, under no name of its own."""
    rate = throughput(case)
    return {} if rate is None else {"": rate * case["flops_per_sample"] / 1e9}


def annotation(case: Case, rivals: list[Case]) -> str:
    """What tells a case from those of the same name; empty where it stands alone."""
    words = []
    if any(other["label"] != case["label"] for other in rivals):
        words.append(case["label"])
    if any(devices(other) != devices(case) for other in rivals):
        words.append(f"devices-{devices(case)}")
    same = alike(rivals)
    for axis in AXES:
        told = axis.name in same or axis.name == "variables"  # which a label says
        if not told and axis.value(case) is not None:
            words.append(f"{axis.name.replace('_', '-')}-{axis.value(case)}")
    at = next(number for number, other in enumerate(rivals) if other is case)
    twins = [o for o in rivals if o["label"] == case["label"] and key(o) == key(case)]
    if len(twins) > 1:  # the default compiler, and the same one by its name
        words.append(str(at + 1))
    return "-".join(words).translate({ord("/"): "-", ord(":"): "-"})


def return_code(outcome: str) -> int:
    """By the outcome of a case, or of a job."""
    if outcome == "ok":
        return OK
    return TIMEOUT if outcome == "timeout" else EXCEPTION


def values(case: Case) -> dict[str, float]:
    """Step time and throughput; in inference their percentiles too.

    The throughput of a percentile is that of its step time, so it falls as the rank rises.
    """
    rate = throughput(case)
    if rate is None:
        return {}
    times = case["step_time_ms"]
    found = {"step_time": times["mean"], "throughput": rate}
    if case["mode"] == "inference":
        samples = case["batch_size"] * devices(case)
        for rank in PERCENTILES:
            milliseconds = times[f"p{rank:g}"]
            if milliseconds is not None:
                found[f"step_time_{rank:g}"] = milliseconds
                found[f"throughput_{rank:g}"] = samples * 1e3 / milliseconds
    return found
