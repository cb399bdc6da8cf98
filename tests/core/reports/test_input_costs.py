"""The page on what images from files cost, which docs/input_costs.py makes from a run."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest
from summaries import case, pair, summary_of, throughput

from mbench.results.inputs import InputSummary, Stall
from mbench.results.pixels import DataSetRecord, PixelRecord

SCRIPT = Path(__file__).parents[3] / "docs" / "input_costs.py"


@pytest.fixture
def page():
    spec = importlib.util.spec_from_file_location("input_costs", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.page


def test_a_row_has_what_step_and_pipeline_take_with_intervals(page):
    found = InputSummary(
        data=DataSetRecord(
            folder="/photos", files=400, classes=100, names="ab", digest="0123456789abcdef",
            digest_of="contents",
        ),
        pixels=PixelRecord(grade="equal", largest=0.0, mean=0.0, psnr=None, failures=[]),
        step=throughput(200.0, 190.0, 210.0), pipeline=throughput(150.0, 140.0, 160.0),
        stall=Stall(value=0.5, low=0.4, high=0.6), cpu_seconds_per_sample=0.012,
        pipeline_cpu_seconds_per_sample=0.01, unit="images/s",
    )  # fmt: skip
    of = {"model": "resnet18", "mode": "train", "data": "/photos", "input": found}
    cases = [
        case(label="tiny", throughput=throughput(100.0, 95.0, 105.0), processes=3, **of),
        case(label="flaky", framework="flaky", throughput=throughput(120.0, 118.0, 122.0), **of),
        case(label="late", framework="late", outcome="timeout", reason="too slow", **of),
    ]
    shared = {"model": "resnet18", "mode": "train"}
    faster = pair(baseline="tiny", framework="flaky", shared=shared, ratio=1.2, low=1.1, high=1.3)
    made = replace(
        summary_of(*cases, comparisons=[faster]),
        command=[
            "mbench",
            "compare",
            "tiny@/a/python",
            "--processes",
            "2",
            "--data",
            "/a/photos",
            "--results",
            "/a/results",
        ],
    )
    text = page(made)
    assert "$ mbench compare tiny --processes 3 --data photos\n" in text
    assert "were added by `mbench compare --resume`" in text
    assert "95 % intervals over 3 processes" in text
    assert "The report of the run says:\n\n- " in text
    assert "400 files (SHA-256 `0123456789ab...`), read from memory (warm)" in text
    rows = [line for line in text.splitlines() if line.startswith("| resnet18")]
    assert rows[0].endswith(
        "| 100 (95 .. 105) | 1 | 200 (190 .. 210) | 150 (140 .. 160) | 50 % (40 .. 60) | 10 | 12 "
        "| equal |"
    )
    assert "| 120 (118 .. 122) | 1.2 (1.1 .. 1.3) |" in rows[1]
    assert "| timeout: too slow |" in rows[2]
