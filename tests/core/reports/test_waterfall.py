"""The waterfall: bars begin where those before led to, and the page needs nothing but itself."""

from __future__ import annotations

import re

import pytest

from mbench.explain.report import FORMATS
from mbench.reports.html.waterfall import falls


def value(value, half=None):
    ends = (None, None) if half is None else (value - half, value + half)
    shown = half is not None and abs(value) > half
    return {"value": value, "low": ends[0], "high": ends[1], "shown": shown}


def part(difference, **more):
    return {"times": 1, "baseline_ms": 1.0, "other_ms": 2.0, "difference_ms": difference, **more}


def found(half=0.5):
    return {
        "baseline": "one", "framework": "<other>", "sets": 3, "baseline_ms": 10.0, "other_ms": 12.0,
        "difference_ms": value(2.0, half),
        "phases": [part(value(3.0, half), phase="forward"),
                   part(value(-1.5, half), phase="backward"),
                   part(value(0.5, half and 1.0), phase="update")],
        "stages": [part(value(1.5, half), stage="layer1"), part(value(-0.5, half), stage="layer2")],
        "rest": part(value(1.0, half)),
        "kinds": [part(value(1.0, half), kind="linear")],
        "operators": [part(value(1.0, half), operator="op:linear/1x2x3")],
        "empty": part(value(0.0, half)),
        "residual": part(value(1.0, half)),
    }  # fmt: skip


def document(**more):
    return {"comparison": "a model", "differences": [found(**more)], "cases": [], "missing": [],
            "lengthened": ["layer1", "layer2"], "kernels": [], "run": "made-up",
            "status": "complete"}  # fmt: skip


@pytest.mark.parametrize("half", [0.5, None])
def test_each_bar_begins_where_the_one_before_led_to(half):
    by_phase, by_depth, _ = made = falls(found(half))
    assert [fall.title.rpartition("by ")[2] for fall in made] == ["phase", "depth", "operator"]
    assert [bar.name for bar in by_depth.bars[1:-1]] == ["layer1", "layer2", "no block of a stage"]
    for fall in made:
        first, *parts, last = fall.bars
        assert (first.kind, last.kind) == ("total", "total")
        at = first.left
        for bar in parts:
            begin, end = bar.left, bar.left + bar.width
            assert at == pytest.approx(begin, abs=0.01) or at == pytest.approx(end, abs=0.01)
            at = end if at == pytest.approx(begin, abs=0.01) else begin
            if half:
                assert (bar.low + bar.high) / 2 == pytest.approx(at, abs=0.01)
            else:
                assert bar.low is None
        assert at == pytest.approx(last.left, abs=0.01)
        assert all(0 <= bar.left <= bar.left + bar.width <= 100 for bar in fall.bars)
    kinds = [bar.kind for bar in by_phase.bars[1:-1]]
    assert kinds == (["longer", "less", "none"] if half else ["none"] * 3)


def test_the_page_holds_all_numbers_as_text_and_runs_nothing():
    page = FORMATS["html"](document())
    assert "<script" not in page
    assert "script-src ;" in page
    assert not re.search(r"https?://|url[(]", page)
    for text in ("+3 ms (+2.5 .. +3.5)", "-1.5 ms (-2 .. -1)", "10 ms", "12 ms", "run made-up"):
        assert text in page
    assert "op:linear/1x2x3" in page
    assert "<other>" not in page
    assert "&lt;other&gt;" in page


def test_what_has_no_set_has_no_waterfall():
    made = document()
    made["differences"] = [{"baseline": "one", "framework": "other", "sets": 0}]
    assert falls(made["differences"][0]) == []
    assert "no set has all parts of both" in FORMATS["html"](made)
