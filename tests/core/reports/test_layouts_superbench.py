"""SuperBench's names are used for what means the same, and for nothing else."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from summaries import case, summary_of

from mbench.contract.adapter import FrameworkInfo
from mbench.reports.compat_formats import superbench
from mbench.results.ceiling import Operator
from mbench.results.figures import Bandwidth


def test_superbench_names_are_its_own():
    times = {"mean": 10.0, "latency_mean": 10.0, "p50": 9.0, "p90": 12.0, "p95": 16.0,
             "p99": 20.0, "p99.9": None}  # fmt: skip
    made = summary_of(
        case(rate=50.0, times=times),
        case(mode="inference", precision="fp16", rate=80.0, times=times),
        case(model="bert-base", outcome="timeout", reason="slow"),
        case(model="lstm", outcome="oom", reason="too large"),
    )
    line = superbench.render(made, format_="jsonl")
    assert line.count("\n") == 1
    found = json.loads(line)
    stem = "model-benchmarks/tiny-resnet50"
    assert found == {
        "node": "node7",
        f"{stem}/return_code": 0,
        f"{stem}/fp32_train_step_time": 10.0,
        f"{stem}/fp32_train_throughput": 50.0,
        f"{stem}/fp16_inference_step_time": 10.0,
        f"{stem}/fp16_inference_throughput": 80.0,
        f"{stem}/fp16_inference_step_time_50": 9.0,
        f"{stem}/fp16_inference_throughput_50": 8e3 / 9.0,
        f"{stem}/fp16_inference_step_time_90": 12.0,
        f"{stem}/fp16_inference_throughput_90": 8e3 / 12.0,
        f"{stem}/fp16_inference_step_time_95": 16.0,
        f"{stem}/fp16_inference_throughput_95": 500.0,
        f"{stem}/fp16_inference_step_time_99": 20.0,
        f"{stem}/fp16_inference_throughput_99": 400.0,
        "model-benchmarks/tiny-bert-base/return_code": 124,
        "model-benchmarks/tiny-lstm/return_code": 4,
    }
    baseline = json.loads(superbench.render(made, format_="json"))
    assert {**baseline, "node": "node7"} == found


def test_superbench_names_are_never_shared():
    times = {"mean": 10.0}
    made = summary_of(
        case(rate=1.0, times=times),
        case(rate=2.0, times=times, batch_size=16),
        case(rate=3.0, times=times, label="tiny==1"),
        case(rate=4.0, times=times, label="tiny==1"),
    )
    found = superbench.metrics(made)
    assert sorted(v for k, v in found.items() if k.endswith("throughput")) == [1, 2, 3, 4]
    assert "model-benchmarks:tiny-batch-size-16/tiny-resnet50/fp32_train_throughput" in found


OPERATOR = Operator(
    counts={}, bytes_per_sample=1, flops_per_second=None, bytes_per_second=None,
    attainable_per_second=None, limit=None, roofline=None,
)  # fmt: skip
BY_NCCL = {
    "framework_info": FrameworkInfo(
        version="1.2", devices=["cuda:0"], device_name="GPU", threads=1,
        details={"collectives": "nccl"},
    ),
    "bandwidth": Bandwidth(message_bytes=2**22, algorithm_bytes_per_second=8e9,
                           bus_bytes_per_second=14e9),
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"model": "op:matmul/12288x12288x16000"}, {"tiny-matmul/nosharding_time": 20.0}),
        ({"model": "op:matmul/16384x16384x16384"}, {"gemm-flops/fp32_flops": 100.0}),
        (
            {"model": "op:matmul/16384x16384x16384", "precision": "bf16"},
            {"gemm-flops/bf16_tc_flops": 100.0},
        ),
        (
            {"model": "op:matmul_all_reduce/12288x1536x16000", "scale": "1x8"},
            {"tiny-sharding-matmul/allreduce_time": 20.0},
        ),
        (
            {"model": "op:matmul_all_gather/3072x12288x16000", "scale": "2x2"},
            {"tiny-sharding-matmul/allgather_time": 20.0},
        ),
        (
            {"model": "op:all_reduce/1048576", "scale": "1x8", **BY_NCCL},
            {
                "nccl-bw/allreduce_4194304_busbw": 14.0,
                "nccl-bw/allreduce_4194304_algbw": 8.0,
                "nccl-bw/allreduce_4194304_time": 524.288,
            },
        ),
        (
            {"model": "op:reduce_scatter/131072", "scale": "1x8", **BY_NCCL},
            {
                "nccl-bw/reducescatter_4194304_busbw": 14.0,
                "nccl-bw/reducescatter_4194304_algbw": 8.0,
                "nccl-bw/reducescatter_4194304_time": 524.288,
            },
        ),
    ],
)
def test_operators_that_superbench_measures_too_have_its_names(changes, names):
    made = case(
        **{"mode": "inference", "batch_size": 1, "rate": 50.0, "times": {"mean": 20.0},
           "operator": OPERATOR, "flops_per_sample": 2e9, **changes}
    )  # fmt: skip
    name = next(iter(names))
    code = f"{name.partition('/')[0]}/return_code"
    assert superbench.metrics(summary_of(made)) == {code: 0, **names}
    ended = replace(made, outcome="oom", throughput=None, step_time_ms=None)
    assert superbench.metrics(summary_of(ended)) == {code: 4}


@pytest.mark.parametrize(
    "changes",
    [
        {"model": "op:matmul/64x64x64"},
        {"mode": "train"},
        {"batch_size": 4},
        {"device": "cpu"},
        {"precision": "fp64"},
        {"precision": "fp16"},
        {"scale": "1x2"},
        {"model": "op:matmul_all_reduce/12288x1536x16000", "scale": "1x4"},
        {"model": "op:all_reduce/1048576", "scale": "1x8"},
        {"model": "op:send_receive/1048576", "scale": "1x8", **BY_NCCL},
        {"model": "op:all_reduce/1048576", "scale": "1x8", "precision": "bf16", **BY_NCCL},
        {"model": "op:all_reduce/1048576", "scale": "1x8", **BY_NCCL, "device": "cpu"},
        {"model": "op:all_reduce/1048576", "scale": "1x8", **BY_NCCL, "batch_size": 4},
        {"model": "op:overlap_mul/7000000x655360", "scale": "1x8", **BY_NCCL},
        {"model": "op:empty/1x1"},
        {"model": "op:to_device/4096x2048"},
        {"model": "op:sgd/1048576", "mode": "train"},
    ],
)
def test_what_means_something_else_has_no_name_of_superbench(changes):
    made = case(
        **{"model": "op:matmul/16384x16384x16384", "mode": "inference", "batch_size": 1,
           "rate": 50.0, "times": dict.fromkeys(("mean", "p50", "p90", "p95", "p99", "p99.9"), 1.0),
           "operator": OPERATOR, "flops_per_sample": 2e9, **changes}
    )  # fmt: skip
    found = superbench.metrics(summary_of(made))
    stem = "mbench-operators/tiny-" + made.axes.model.replace("op:", "").replace("/", "_")
    assert all(name.startswith(f"{stem}/") for name in found)
    series = f"{made.axes.precision}_{made.axes.mode}_throughput"
    assert found[f"{stem}/{series}"] == 50.0


def test_two_frameworks_share_no_name_of_superbench():
    given = {"model": "op:matmul/16384x16384x16384", "mode": "inference", "batch_size": 1,
             "rate": 50.0, "operator": OPERATOR, "flops_per_sample": 2e9}  # fmt: skip
    found = superbench.metrics(summary_of(case(**given), case(**given, label="other")))
    assert found == {
        "gemm-flops:tiny/return_code": 0, "gemm-flops:tiny/fp32_flops": 100.0,
        "gemm-flops:other/return_code": 0, "gemm-flops:other/fp32_flops": 100.0,
    }  # fmt: skip
