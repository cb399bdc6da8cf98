"""Published tables: their own throughputs give the speed-ups that they print."""

from __future__ import annotations

import csv
import io
import json
from types import SimpleNamespace

import pytest
from screens import on_screen
from summaries import case, summary_of

from mbench.cli.builtin import FORMATS, LAYOUTS
from mbench.engine.outcome import CaseEnded
from mbench.errors import MbenchError
from mbench.reports.compat_formats import dlperf, nvidia, superbench
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


def tables(layout, made):
    return json.loads(layout.render(made, format_="json"))["tables"]


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_throughputs_give_the_printed_speedups_but_for_the_misprints(name):
    full, published = PUBLISHED[name]
    made = summary_of(
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
        if abs(ours[column] - row[at]) >= 0.01  # some rows are rounded, some truncated
    }
    assert wrong == {found for found in MISPRINTED if found[0] == name}


def test_the_famous_misprint_is_3_23():
    rates = (case(precision="amp-fp16", rate=3410.52), case(precision="tf32", rate=1055.78))
    (table,) = tables(nvidia, summary_of(*rates))
    assert f"{table['rows'][0]['Throughput speedup (tf32 - amp-fp16)']:.2f}" == "3.23"


def test_inference_is_batch_by_throughput_and_latencies_with_speedups():
    def times(scale):
        return {"mean": 4.0 * scale, "latency_mean": 4.1 * scale, "p50": 4.0 * scale,
                "p90": 5.0 * scale, "p95": 6.0 * scale, "p99": None, "p99.9": None}  # fmt: skip

    made = summary_of(
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


def test_images_from_files_fill_total_ips_beside_those_of_steps_alone():
    def rates(**given):
        alone = SimpleNamespace(step=SimpleNamespace(value=1.6 * given["rate"]))
        return case(data="/photos", input=alone, **given)

    files = [rates(precision="amp-fp16", rate=250.0), rates(precision="fp32", rate=100.0)]
    (table,) = tables(nvidia, summary_of(*files, case(rate=300.0)))[:1]
    assert table["rows"][0] == {
        "Devices": 1,
        "Total IPS (data + compute) - amp-fp16": 250,
        "Total IPS (data + compute) - fp32": 100,
        "Total IPS (data + compute) speedup (fp32 - amp-fp16)": 2.5,
        "Compute IPS - amp-fp16": 400,
        "Compute IPS - fp32": 160,
        "Weak scaling - amp-fp16": 1,
        "Weak scaling - fp32": 1,
    }
    (table,) = tables(nvidia, summary_of(rates(mode="inference", rate=50.0, times={"mean": 4.0})))
    assert list(table["rows"][0].items())[:3] == [
        ("Batch size", files[0].axes.batch_size),
        ("Total IPS (data + compute) - fp32", 50),
        ("Compute IPS - fp32", 80),
    ]


def test_dlperf_is_framework_by_precision_and_batch_with_footnotes():
    made = summary_of(
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
    made = summary_of(case(rate=100.0), case(scale="1x8", rate=720.0))
    one, eight = tables(dlperf, made)
    assert "fp32 speedup bsz=8" not in one["rows"][0]
    assert eight["rows"][0]["fp32 speedup bsz=8"] == 7.2


def test_dlperf_tells_compilers_apart_as_dlperf_does():
    made = summary_of(case(rate=100.0), case(compiler="xla", rate=120.0))
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
    made = summary_of(case(rate=100.0), case(rate=50.0, **change))
    usual, other = tables(layout, made)
    assert said in other["title"]
    assert said not in usual["title"]
    for table, rate in ((usual, 100), (other, 50)):
        (row,) = table["rows"]
        assert rate in row.values()


LAID = {"dlperf": dlperf, "nvidia": nvidia, "superbench": superbench}


@pytest.mark.parametrize(("layout", "format_"), [(n, f) for n in LAID for f in LAYOUTS[n]])
def test_every_layout_has_every_format(layout, format_, full):
    text = on_screen(LAID[layout].render(full, format_=format_))
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


def test_every_layout_is_tried():
    assert set(LAID) == set(LAYOUTS)
    assert all(set(formats) - {"jsonl"} <= set(FORMATS) for formats in LAYOUTS.values())


@pytest.mark.parametrize("layout", ["dlperf", "nvidia"])
def test_hostile_text_stays_text(layout, hostile, harm):
    shown = LAID[layout].render(hostile, format_="markdown")
    assert "<script" not in shown
    assert "\x1b" not in on_screen(LAID[layout].render(hostile, format_="table"))
    text = LAID[layout].render(hostile, format_="csv")
    assert "\x1b" not in text
    rows = csv.reader(io.StringIO(text, newline=""))
    assert any(spreadsheet(harm) in cell for row in rows for cell in row)


def test_a_run_of_nothing_has_no_table():
    with pytest.raises(MbenchError, match="no case"):
        dlperf.render(summary_of(), format_="table")


def test_a_case_that_fell_short_keeps_its_row(ends):
    (table,) = tables(nvidia, ends)[:1]
    assert table["notes"] == ["[1]: tiny: crashed: gone"]


@pytest.fixture
def ends(summary):
    return summary(seconds={"tiny": []}, ends={"tiny": CaseEnded("crashed", "gone")})
