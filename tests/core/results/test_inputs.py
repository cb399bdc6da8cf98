"""How long steps wait for images, from the ratios of rates within processes."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from summaries import case, summary_of, throughput

from mbench.reports.formats import csv_rows, markdown
from mbench.reports.html import render
from mbench.reports.inputs import input_table
from mbench.results.figures import Figure
from mbench.results.inputs import InputSummary, Stall, rates_of, stall
from mbench.results.pixels import PIPELINE, STEP, PixelRecord


def block(part, steps, milliseconds):
    return SimpleNamespace(part=part, steps=steps, nanoseconds=milliseconds * 10**6, each=False)


def process(alone, together):
    """Blocks of ten steps take `alone` ms on resident batches, and `together` ms on images."""
    both = SimpleNamespace(steps=10, nanoseconds=[together * 10**6], each=False)
    parts = [block(STEP, 10, alone), block(PIPELINE, 10, together // 2)]
    return SimpleNamespace(parts=parts, blocks=[both])


def record(*processes):
    return SimpleNamespace(processes=dict(enumerate(processes)), samples_per_step=8)


def test_rates_are_samples_by_time_of_each_process():
    found = rates_of(record(process(100, 200), process(200, 400)), STEP)
    assert found == {0: pytest.approx(800), 1: pytest.approx(400)}


def test_what_a_process_has_for_an_offset_falls_out_of_the_stall():
    made = record(process(100, 200), process(200, 400), process(150, 300))
    found = stall(made, rates_of(made, STEP), level=0.95)
    assert found.value == pytest.approx(0.5)
    assert found.low == pytest.approx(0.5)
    assert found.high == pytest.approx(0.5)


def test_two_processes_give_no_interval():
    made = record(process(100, 200), process(100, 250))
    found = stall(made, rates_of(made, STEP), level=0.95)
    assert found.low is None
    assert 0.5 < found.value < 0.6


@pytest.fixture
def summary():
    def figure(value):
        return Figure(value=value, low=None, high=None, unit="images/s", processes=[value])

    found = InputSummary(
        data=None, pixels=PixelRecord(grade="equal", largest=0.0, mean=0.0, psnr=None, failures=[]),
        step=figure(200.0), pipeline=figure(150.0), stall=Stall(value=0.5, low=0.4, high=0.6),
        cpu_seconds_per_sample=0.012, pipeline_cpu_seconds_per_sample=0.01, unit="images/s",
    )  # fmt: skip
    cases = [
        case(label=label, rate=100.0, input=found, data="/photos", storage="cold", device="cpu")
        for label in ("tiny", "flaky")
    ]
    return summary_of(*cases)


def test_every_report_has_the_parts_and_the_stall(summary):
    table = input_table(summary)
    row = dict(zip(table.columns, table.rows[0], strict=True))
    assert row["step alone"] == "200"
    assert row["both"] == "100"
    assert row["waits for images"] == "50.0 %"
    assert row["95 % interval"] == "40.0 % to 60.0 %"
    assert (row["CPU ms/image"], row["pixels"]) == ("12", "equal")
    assert "| waits for images |" in markdown(summary)
    assert csv_rows(summary)[0]["stall"] == 0.5
    page = render(summary)
    assert "Images from files" in page
    assert "5 + 5 ms/image, waits 50.0 %" in page
    assert page.count('<span class="bar alone"') == 2
    assert page.count('<span class="bar decoding"') == 2
    assert 'class="bar disk"' not in page


def test_what_only_the_disk_takes_is_told_apart(summary):
    cold = summary.cases[:1]
    axes = replace(cold[0].axes, storage="warm")
    warm = replace(cold[0], axes=axes, throughput=throughput(160.0))
    page = render(replace(summary, cases=[warm, *cold]))
    assert "5 + 1.25 ms/image" in page
    assert "5 + 1.25 + 3.75 ms/image" in page
    assert page.count('<span class="bar disk"') == 1
    assert "also waits for the disk" in page


def test_there_is_no_table_without_files(summary):
    assert input_table(replace(summary, cases=[case(rate=1.0)])) is None
