"""Names of SuperBench's metrics, current and before v0.4: `benchmark:annotation/metric:rank`.

Names changed in December 2021 (SuperBench's pull request 252). An old name and the current one
stand for the same figure in the same unit, so either matches a rule or baseline that has the other.
The bandwidths of ib-loopback are left out: their unit changed with the name.
"""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["aliases", "benchmark", "rank", "today", "without_rank"]

RANK = re.compile(r":[0-9]+\Z")
PRECISIONS = {"float32": "fp32", "float16": "fp16", "float64": "fp64", "bfloat16": "bf16"}
OLD = {
    "kernel-launch": {"event_overhead": "event_time", "wall_overhead": "wall_time"},
    "mem-bw": {"H2D_Mem_BW": "h2d_bw", "D2H_Mem_BW": "d2h_bw", "D2D_Mem_BW": "d2d_bw"},
    "gemm-flops": {
        **{word: f"{word.lower()}_flops" for word in
           ("FP64", "FP32", "FP16", "FP64_TC", "TF32_TC", "BF16_TC", "FP16_TC", "FP32_XDLOPS",
            "FP16_XDLOPS", "BF16_XDLOPS")},
        **{word: f"{word.lower()}_iops" for word in ("INT8_TC", "INT4_TC", "INT8_XDLOPS")},
    },
    "*-computation-communication-overlap": {"mul_cost": "mul_time", "matmul_cost": "matmul_time"},
    "*-matmul": {"nosharding": "nosharding_time"},
    "*-sharding-matmul": {"allreduce": "allreduce_time", "allgather": "allgather_time"},
    "gpu-sm-copy-bw": {"dtoh": "dtoh_bw", "htod": "htod_bw"},
}  # fmt: skip
"""By benchmark, old and current names of figures; a star stands for a framework."""
NEW = {name: {new: old for old, new in words.items()} for name, words in OLD.items()}
OLD_STEP = re.compile(r"(steptime|throughput)_(train|inference)_(float32|float16|float64|bfloat16)")
NEW_STEP = re.compile(r"(fp32|fp16|fp64|bf16)_(train|inference)_(step_time|throughput)")


def rank(metric: str) -> str:
    """The colon and the number of the rank at the end of a name; empty where it has none."""
    found = RANK.search(metric)
    return found[0] if found else ""


def without_rank(metric: str) -> str:
    return metric[: len(metric) - len(rank(metric))]


def benchmark(metric: str) -> str:
    """The benchmark of a metric or expression, without its annotation; empty without a slash."""
    before, slash, _ = metric.partition("/")
    return before.partition(":")[0] if slash else ""


@lru_cache(maxsize=65536)
def today(metric: str) -> str:
    """The current form of a name: an old one's new form, otherwise the name itself."""
    return renamed(metric, OLD, old=True)


@lru_cache(maxsize=65536)
def aliases(metric: str) -> tuple[str, ...]:
    """All names of a metric, the given one first."""
    return tuple(dict.fromkeys((metric, today(metric), renamed(metric, NEW, old=False))))


def renamed(metric: str, words: dict[str, dict[str, str]], *, old: bool) -> str:
    end = rank(metric)
    before, slash, figure = metric[: len(metric) - len(end)].rpartition("/")
    if not slash:
        return metric
    name = benchmark(metric)
    star = f"*-{name.partition('-')[2]}"
    new = words.get(name, words.get(star, {})).get(figure)
    if new is None:
        if old and (found := OLD_STEP.fullmatch(figure)):
            what = found[1].replace("steptime", "step_time")
            new = f"{PRECISIONS[found[3]]}_{found[2]}_{what}"
        elif not old and (found := NEW_STEP.fullmatch(figure)):
            precision = next(long for long, brief in PRECISIONS.items() if brief == found[1])
            new = f"{found[3].replace('step_time', 'steptime')}_{found[2]}_{precision}"
    return metric if new is None else f"{before}/{new}{end}"
