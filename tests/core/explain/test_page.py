"""Bars of a waterfall begin where those before end, and the page needs nothing but itself."""

from __future__ import annotations

import re

import pytest

from mbench.explain.page import waterfalls
from mbench.explain.report import FORMATS
from mbench.explain.summary import Difference, Explanation, Interval, Pair, Row


def value(value, half=None):
    ends = (None, None) if half is None else (value - half, value + half)
    return Interval(value, *ends, shown=half is not None and abs(value) > half)


def row(name, difference, *, base=1.0, other=2.0):
    return Row(name=name, times=1, baseline_ms=base, other_ms=other, difference_ms=difference)


def found(half=0.5):
    return Difference(
        baseline="one", framework="<other>", sets=3,
        step=row("a whole step", value(2.0, half), base=10.0, other=12.0),
        phases=[row("forward", value(3.0, half)), row("backward", value(-1.5, half)),
                row("update", value(0.5, half and 1.0))],
        stages=[row("layer1", value(1.5, half)), row("layer2", value(-0.5, half))],
        rest=row("outside all stages", value(1.0, half)),
        kinds=[row("linear", value(1.0, half))],
        operators=[row("op:linear/1x2x3", value(1.0, half))],
        empty=row("an empty step", value(0.0, half)),
        residual=row("not attributed to any operator", value(1.0, half)),
        only_in_one=[],
    )  # fmt: skip


def explanation(pair):
    return Explanation(
        schema=1, run="made-up", status="complete", comparison="a model", cases=[],
        lengthened=["layer1", "layer2"], missing=[], differences=[pair],
    )  # fmt: skip


@pytest.mark.parametrize("half", [0.5, None])
def test_each_bar_begins_where_the_one_before_ends(half):
    by_phase, by_depth, _ = made = waterfalls(found(half))
    assert [fall.title.rpartition("by ")[2] for fall in made] == ["phase", "depth", "operator"]
    assert [bar.name for bar in by_depth.bars[1:-1]] == ["layer1", "layer2", "outside all stages"]
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
    page = FORMATS["html"](explanation(found()))
    assert "<script" not in page
    assert "script-src ;" in page
    assert not re.search(r"https?://|url[(]", page)
    for text in ("+3 ms (+2.5 .. +3.5)", "-1.5 ms (-2 .. -1)", "10 ms", "12 ms", "run made-up"):
        assert text in page
    assert "op:linear/1x2x3" in page
    assert "<other>" not in page
    assert "&lt;other&gt;" in page
    legend = re.search(r'<p class="legend">(.*?)</p>', page, re.DOTALL)[1]
    said = ("ms:", "adds time", "saves time", "not shown to differ", "95 % interval")
    assert all(text in legend for text in said)


def test_a_pair_without_a_set_has_no_waterfall():
    pair = Pair(baseline="one", framework="other")
    assert waterfalls(pair) == []
    assert "no set of processes has all parts of both" in FORMATS["html"](explanation(pair))
