"""Operators' work per second and share of the roofline, from values easy to calculate with."""

from __future__ import annotations

from dataclasses import replace

import pytest
from screens import on_screen
from summaries import with_case

from mbench.reports.cases import operator_table
from mbench.reports.formats import FORMATS
from mbench.results.ceiling import attainable
from mbench.workloads.operators import OPERATORS

MATMUL = "op:matmul/20x30x40"
FLOPS = 2 * 20 * 30 * 40
SHOWN = ("table", "markdown", "html")
BYTES = 4 * (20 * 30 + 30 * 40 + 20 * 40)
RATE = 8 * 10 / 2.0
"""Calls a second: 10 steps of 8 calls in 2 s."""


def probe(kind, per_second):
    return {"operator": kind, "size": 64, "amount": per_second, "steps": 1, "nanoseconds": [10**9]}


def made(document, *models, products=None, memory=None, **axes):
    rates = {"matmul": products, "add": memory}
    probes = [probe(kind, rate) for kind, rate in rates.items() if rate]
    axes = {"mode": ("inference",), **axes}
    return document(
        seconds={"tiny": [[2.0]]}, ceiling={"tiny": probes}, model=models or (MATMUL,), **axes
    )


def test_flops_and_bytes_by_time(document):
    (case,) = made(document)["cases"]
    assert case["operator"] == {
        "counts": {},
        "bytes_per_sample": BYTES,
        "flops_per_second": pytest.approx(FLOPS * RATE),
        "bytes_per_second": pytest.approx(BYTES * RATE),
        "attainable_per_second": None,
        "limit": None,
        "roofline": None,
    }


@pytest.mark.parametrize(
    ("products", "memory", "limit", "calls"),
    [
        (100 * FLOPS, 1000 * BYTES, "products", 100),
        (1000 * FLOPS, 80 * BYTES, "memory", 80),
    ],
)
def test_the_lower_of_both_peaks_is_the_roof(document, products, memory, limit, calls):
    (case,) = made(document, products=products, memory=memory)["cases"]
    found = case["operator"]
    assert found["limit"] == limit
    assert found["attainable_per_second"] == pytest.approx(calls)
    assert found["roofline"] == pytest.approx(RATE / calls)
    by_definition = min(products, memory * FLOPS / BYTES)
    assert found["flops_per_second"] / by_definition == pytest.approx(found["roofline"])


def test_without_products_memory_is_the_roof():
    assert attainable(0.0, 10, products=None, memory=50.0) == (5.0, "memory")
    assert attainable(3.0, 10, products=None, memory=50.0) == (None, None)
    assert attainable(3.0, 10, products=9.0, memory=None) == (None, None)
    assert attainable(0.0, 0, products=9.0, memory=50.0) == (None, None)


def test_a_model_has_none_of_it(document):
    (case,) = made(document, "tiny-model", products=1000, memory=1000)["cases"]
    assert case["operator"] is None


@pytest.mark.parametrize(
    ("name", "mode", "numbers"),
    [
        ("op:add/3x4", "inference", 3 * 12),
        ("op:add/3x4", "train", 2 * 3 * 12 + 2 * 12),
        ("op:embedding/5x100x8", "inference", 5 + 5 * 8 + 5 * 8),
        ("op:embedding/500x100x8", "inference", 500 + 100 * 8 + 500 * 8),
        ("op:batch_norm/2x3x4x4", "inference", 2 * 96 + 2 * 3),
    ],
)
def test_the_least_bytes_of_a_call(name, mode, numbers):
    training = mode == "train"
    assert OPERATORS[name].moved_bytes(training=training, number_bytes=1) == numbers
    assert OPERATORS[name].moved_bytes(training=training) == 4 * numbers


def test_numbers_are_as_large_as_the_precision_has_them(document):
    found = made(document, precision=("fp32", "fp64"))["cases"]
    assert [case["operator"]["bytes_per_sample"] for case in found] == [BYTES, 2 * BYTES]


def test_every_report_shows_it(summary):
    shown = made(summary, MATMUL, "op:relu/20x40", products=100 * FLOPS, memory=1000 * BYTES)
    operator = replace(shown.cases[0].operator, counts={"resnet50": 3})
    shown = with_case(shown, 0, operator=operator)
    grid = operator_table(shown)
    assert list(grid.columns) == [
        "framework", "operator", "times", "GFLOP/s", "GB/s", "roofline",
    ]  # fmt: skip
    assert grid.rows[0] == [
        "tiny", MATMUL, "3 in resnet50", "0.00192", "0.000416", "40 % of products",
    ]  # fmt: skip
    assert grid.rows[1][3] == "", "a ReLU has no product"
    assert grid.rows[1][5].endswith("% of memory")
    for name in SHOWN:
        text = on_screen(FORMATS[name](shown))
        assert "40 % of products" in text
        assert "3 in resnet50" in text
    header, first, *_ = FORMATS["csv"](shown).splitlines()
    cells = dict(zip(header.split(","), first.split(","), strict=True))
    assert float(cells["roofline"]) == pytest.approx(0.4)
    assert float(cells["flops_per_second"]) == pytest.approx(FLOPS * RATE)
    assert (cells["counts"], cells["limit"]) == ("3 in resnet50", "products")


def test_models_are_shown_without_it(summary):
    shown = made(summary, "tiny-model")
    assert operator_table(shown) is None
    for name in SHOWN:
        assert "roofline" not in on_screen(FORMATS[name](shown))


def test_faster_than_memory_is_told(summary):
    said = "1 of 1 operators are faster than memory: their operands stay in caches between steps"
    fast = made(summary, "op:relu/20x40", products=1000, memory=1000)
    assert said in on_screen(FORMATS["table"](fast))
    slow = made(summary, "op:relu/20x40", products=1000, memory=10**9)
    assert said not in on_screen(FORMATS["table"](slow))
