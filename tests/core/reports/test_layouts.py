"""Published tables: the field's own inputs give the speed-ups that it printed."""

from __future__ import annotations

import csv
import io
import json

import pytest

from mbench.builtin import FORMATS, LAYOUTS
from mbench.engine.outcome import CaseEnded
from mbench.errors import MbenchError
from mbench.reports.layouts import dlperf, nvidia, superbench
from mbench.reports.text import spreadsheet

# NVIDIA DeepLearningExamples, MXNet ResNet-50 v1.5, training performance: devices, mixed and full
# precision in images/s, then what was printed: mixed over full, weak scaling mixed and full.
PUBLISHED = {
    "A100": ("tf32", [
        (1, 3410.52, 1055.78, 2.18, 1.00, 1.00),
        (4, 13442.66, 4182.30, 3.24, 3.97, 3.96),
        (8, 26673.72, 8247.44, 3.23, 7.82, 7.81),
    ]),
    "V100 DGX-1": ("fp32", [
        (1, 1376, 384, 3.58, 1.00, 1.00),
        (2, 2768, 763, 3.62, 2.01, 1.98),
        (4, 5357, 1513, 3.54, 3.89, 3.94),
        (8, 10723, 3005, 3.56, 7.79, 7.82),
    ]),
    "V100 DGX-2": ("fp32", [
        (1, 1492, 417, 3.57, 1.00, 1.00),
        (2, 2935, 821, 3.57, 1.96, 1.96),
        (4, 5726, 1623, 3.52, 3.83, 3.92),
        (8, 11368, 3223, 3.52, 7.61, 7.72),
        (16, 21484, 6338, 3.38, 14.39, 15.19),
    ]),
}  # fmt: skip
# 3410.52 / 1055.78 is 3.23. With 13542.66 for 13442.66, both ratios of its row would be right.
# 1623 / 417 is 3.89.
MISPRINTED = {
    ("A100", 1, "speedup"), ("A100", 4, "speedup"), ("A100", 4, "mixed scaling"),
    ("V100 DGX-2", 4, "full scaling"),
}  # fmt: skip


def case(**given):
    """A case of a document as far as layouts read it."""
    rate = given.pop("rate", None)
    times = given.pop("times", None)
    return {
        "framework_title": "Tiny", "label": "tiny", "version": "1.2", "model": "resnet50",
        "mode": "train",
        "batch_size": 8, "scale": "1x1", "precision": "fp32", "tier": "first",
        "compiler": "eager", "device": "cuda",
        "threads": 1, "sizes": {}, "variables": {}, "steadiness": "usual", "clip": True,
        "dropout": True, "phase": "",
        "outcome": "ok", "reason": "",
        "throughput": {"value": rate, "unit": "images/s"} if rate else None,
        "step_time_ms": times, **given,
    }  # fmt: skip


def made_of(*cases):
    return {"run": "r", "system": {"hostname": "node7"}, "cases": list(cases)}


def tables(layout, made):
    return json.loads(layout.render(made, format_="json"))["tables"]


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_throughputs_give_the_printed_speedups_but_for_the_misprints(name):
    full, published = PUBLISHED[name]
    made = made_of(
        *(
            case(precision=precision, scale=f"1x{row[0]}", rate=rate)
            for row in published
            for precision, rate in (("amp-fp16", row[1]), (full, row[2]))
        )
    )
    (table,) = tables(nvidia, made)
    columns = {
        "speedup": (3, f"Throughput speedup ({full} - amp-fp16)"),
        "mixed scaling": (4, "Weak scaling - amp-fp16"),
        "full scaling": (5, f"Weak scaling - {full}"),
    }
    wrong = {
        (name, row[0], what)
        for row, ours in zip(published, table["rows"], strict=True)
        for what, (at, column) in columns.items()
        if abs(ours[column] - row[at]) >= 0.01  # some rows are rounded, some cut
    }
    assert wrong == {found for found in MISPRINTED if found[0] == name}


def test_the_famous_misprint_is_3_23():
    rates = (case(precision="amp-fp16", rate=3410.52), case(precision="tf32", rate=1055.78))
    (table,) = tables(nvidia, made_of(*rates))
    assert f"{table['rows'][0]['Throughput speedup (tf32 - amp-fp16)']:.2f}" == "3.23"


def test_inference_is_batch_by_throughput_and_latencies_with_speedups():
    def times(scale):
        return {"mean": 4.0 * scale, "latency_mean": 4.1 * scale, "p50": 4.0 * scale,
                "p90": 5.0 * scale, "p95": 6.0 * scale, "p99": None, "p99.9": None}  # fmt: skip

    made = made_of(
        *(
            case(mode="inference", batch_size=b, precision=p, rate=1000.0 * b / s, times=times(s))
            for b in (1, 2)
            for p, s in (("fp32", 1.0), ("amp-bf16", 0.5))
        )
    )
    (table,) = tables(nvidia, made)
    row = table["rows"][1]
    assert row["Batch size"] == 2
    assert row["Throughput - amp-bf16"] == 4000
    assert row["Throughput - speedup"] == row["95% latency - speedup"] == 2
    assert row["Avg latency (ms) - amp-bf16"] == 2.05
    assert row["99% latency (ms) - amp-bf16"] is None, "too few steps"
    assert row["99% latency - speedup"] is None


def test_dlperf_is_framework_by_precision_and_batch_with_footnotes():
    made = made_of(
        case(batch_size=128, rate=100.0),
        case(precision="amp-fp16", batch_size=128, rate=250.0),
        case(precision="amp-fp16", batch_size=256, outcome="oom", reason="too large"),
        case(label="other", batch_size=128, rate=90.0),
        case(
            label="other", precision="amp-fp16", batch_size=128, outcome="unsupported", reason="no"
        ),
        case(
            label="other", precision="amp-fp16", batch_size=256, outcome="oom", reason="too large"
        ),
    )
    (table,) = tables(dlperf, made)
    tiny, other = table["rows"]
    assert tiny["fp32 throughput (images/s) bsz=128"] == 100
    assert tiny["amp-fp16 throughput (images/s) bsz=128"] == 250
    assert tiny["amp-fp16 over fp32 bsz=128"] == 2.5
    assert tiny["amp-fp16 throughput (images/s) bsz=256"] == "[1] -"
    assert other["amp-fp16 over fp32 bsz=128"] is None
    assert table["notes"] == [
        "[1]: tiny: oom: too large", "[2]: other: unsupported: no", "[3]: other: oom: too large",
    ]  # fmt: skip


def test_dlperf_scales_over_one_device_of_the_same_batch_per_device():
    made = made_of(case(rate=100.0), case(scale="1x8", rate=720.0))
    one, eight = tables(dlperf, made)
    assert "fp32 speedup bsz=8" not in one["rows"][0]
    assert eight["rows"][0]["fp32 speedup bsz=8"] == 7.2


def test_dlperf_tells_compilers_apart_as_dlperf_does():
    made = made_of(case(rate=100.0), case(compiler="xla", rate=120.0))
    (table,) = tables(dlperf, made)
    assert [row["Framework"] for row in table["rows"]] == ["tiny w/eager", "tiny w/xla"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"clip": False}, "without clipping"),
        ({"threads": 2}, "threads 2"),
        ({"sizes": {"image_size": 64}}, "image size 64"),
    ],
)
@pytest.mark.parametrize("layout", [dlperf, nvidia])
def test_cases_that_differ_elsewhere_have_tables_of_their_own(layout, change, said):
    made = made_of(case(rate=100.0), case(rate=50.0, **change))
    usual, other = tables(layout, made)
    assert said in other["title"]
    assert said not in usual["title"]
    for table, rate in ((usual, 100), (other, 50)):
        (row,) = table["rows"]
        assert rate in row.values()


def test_superbench_names_are_its_own():
    times = {"mean": 10.0, "latency_mean": 10.0, "p50": 9.0, "p90": 12.0, "p95": 16.0,
             "p99": 20.0, "p99.9": None}  # fmt: skip
    made = made_of(
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
    made = made_of(
        case(rate=1.0, times=times),
        case(rate=2.0, times=times, batch_size=16),
        case(rate=3.0, times=times, label="tiny==1"),
        case(rate=4.0, times=times, label="tiny==1"),
    )
    found = superbench.metrics(made)
    assert sorted(v for k, v in found.items() if k.endswith("throughput")) == [1, 2, 3, 4]
    assert "model-benchmarks:tiny-batch-size-16/tiny-resnet50/fp32_train_throughput" in found


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
    ],
)
def test_operators_that_superbench_measures_too_have_its_names(changes, names):
    made = case(
        **{"mode": "inference", "batch_size": 1, "rate": 50.0, "times": {"mean": 20.0},
           "operator": {}, "flops_per_sample": 2e9, **changes}
    )  # fmt: skip
    (name,) = names
    code = f"{name.partition('/')[0]}/return_code"
    assert superbench.metrics(made_of(made)) == {code: 0, **names}
    ended = {**made, "outcome": "oom", "throughput": None, "step_time_ms": None}
    assert superbench.metrics(made_of(ended)) == {code: 4}


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
    ],
)
def test_what_means_something_else_has_no_name_of_superbench(changes):
    made = case(
        **{"model": "op:matmul/16384x16384x16384", "mode": "inference", "batch_size": 1,
           "rate": 50.0, "times": dict.fromkeys(("mean", "p50", "p90", "p95", "p99", "p99.9"), 1.0),
           "operator": {}, "flops_per_sample": 2e9, **changes}
    )  # fmt: skip
    found = superbench.metrics(made_of(made))
    stem = "mbench-operators/tiny-" + made["model"].replace("op:", "").replace("/", "_")
    assert all(name.startswith(f"{stem}/") for name in found)
    series = f"{made['precision']}_{made['mode']}_throughput"
    assert found[f"{stem}/{series}"] == 50.0


def test_two_frameworks_share_no_name_of_superbench():
    given = {"model": "op:matmul/16384x16384x16384", "mode": "inference", "batch_size": 1,
             "rate": 50.0, "operator": {}, "flops_per_sample": 2e9}  # fmt: skip
    found = superbench.metrics(made_of(case(**given), case(**given, label="other")))
    assert found == {
        "gemm-flops:tiny/return_code": 0, "gemm-flops:tiny/fp32_flops": 100.0,
        "gemm-flops:other/return_code": 0, "gemm-flops:other/fp32_flops": 100.0,
    }  # fmt: skip


LAID = {"dlperf": dlperf, "nvidia": nvidia, "superbench": superbench}


@pytest.mark.parametrize(("layout", "format_"), [(n, f) for n in LAID for f in LAYOUTS[n]])
def test_every_layout_has_every_format(layout, format_, full):
    text = LAID[layout].render(full, format_=format_)
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


def test_every_layout_is_tried():
    assert set(LAID) == set(LAYOUTS)
    assert all(set(formats) - {"jsonl"} <= set(FORMATS) for formats in LAYOUTS.values())


@pytest.mark.parametrize("layout", ["dlperf", "nvidia"])
def test_hostile_text_stays_text(layout, hostile, harm):
    shown = LAID[layout].render(hostile, format_="markdown")
    assert "<script" not in shown
    assert "\x1b" not in LAID[layout].render(hostile, format_="table")
    text = LAID[layout].render(hostile, format_="csv")
    assert "\x1b" not in text
    rows = csv.reader(io.StringIO(text, newline=""))
    assert any(spreadsheet(harm) in cell for row in rows for cell in row)


def test_a_run_of_nothing_has_no_table():
    with pytest.raises(MbenchError, match="no case"):
        dlperf.render(made_of(), format_="table")


def test_a_case_that_fell_short_keeps_its_row(document_of_ends):
    (table,) = tables(nvidia, document_of_ends)[:1]
    assert table["notes"] == ["[1]: tiny: crashed: gone"]


@pytest.fixture
def document_of_ends(document):
    return document(seconds={"tiny": []}, ends={"tiny": CaseEnded("crashed", "gone")})
