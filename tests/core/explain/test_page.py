"""Each bar of a waterfall begins where the one before it ends, and the page loads nothing else."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from rich.text import Text
from summaries import summary_of

from mbench.explain.context import Context
from mbench.explain.report import FORMATS
from mbench.explain.summary import Difference, Explanation, Interval, Pair, Row
from mbench.explain.waterfall import waterfalls
from mbench.reports.states import State


def value(value, half=0.5):
    return Interval(value, value - half, value + half, shown=abs(value) > half)


def row(name, difference, *, base=1.0, other=2.0):
    return Row(name=name, times=1, baseline_ms=base, other_ms=other, difference_ms=difference)


STEP = row("a whole step", value(2.0), base=10.0, other=12.0)


def found(**changed):
    return replace(Difference(
        baseline="one", framework="<other>", sets=3, step=STEP,
        phases=[row("forward", value(3.0)), row("backward", value(-1.5)),
                row("update", value(0.5, 1.0))],
        phase_step=STEP,
        stages=[row("layer1", value(1.5)), row("layer2", value(-0.5))],
        rest=row("the rest (in no stage)", value(1.0)),
        stage_step=STEP,
        kinds=[row("linear", value(1.0))],
        operators=[row("op:linear/1x2x3", value(1.0))],
        empty=row("an empty step", value(0.0)),
        residual=row("the rest (in no measured operator)", value(1.0)),
        operator_step=STEP,
    ), **changed)  # fmt: skip


CONTEXT = Context(
    summary=summary_of(),
    states=[State("warn", "machine", Text("disturbed: others computed"))],
)


def explanation(pair):
    return Explanation(
        schema=1, run="made-up", status="complete", comparison="a model", cases=[],
        lengthened=["layer1", "layer2"], missing=[], differences=[pair],
    )  # fmt: skip


def test_each_bar_begins_where_the_one_before_ends():
    by_phase, by_depth, _ = made = waterfalls(found())
    levels = ["phase (ms)", "stage (ms)", "operator (ms)"]
    assert [fall.title.rpartition("by ")[2] for fall in made] == levels
    names = ["layer1", "layer2", "the rest (in no stage)"]
    assert [bar.name for bar in by_depth.bars[1:-1]] == names
    for fall in made:
        first, *parts, last = fall.bars
        assert (first.kind, last.kind) == ("total", "total")
        at = first.left
        for bar in parts:
            begin, end = bar.left, bar.left + bar.width
            assert at == pytest.approx(begin, abs=0.01) or at == pytest.approx(end, abs=0.01)
            at = end if at == pytest.approx(begin, abs=0.01) else begin
            assert (bar.low + bar.high) / 2 == pytest.approx(at, abs=0.01)
        assert at == pytest.approx(last.left, abs=0.01)
        assert all(0 <= bar.left <= bar.left + bar.width <= 100 for bar in fall.bars)
    kinds = [bar.kind for bar in by_phase.bars[1:-1]]
    assert kinds == ["longer", "less", "none"]


def test_stages_that_overlap_have_no_waterfall():
    levels = [fall.title.rpartition("by ")[2] for fall in waterfalls(found(rest=None))]
    assert levels == ["phase (ms)", "operator (ms)"]


def test_the_page_holds_all_numbers_as_text_and_runs_nothing():
    page = FORMATS["html"](explanation(found()))
    assert "<script" not in page
    assert "script-src ;" in page
    assert not re.search(r"https?://|url[(]", page)
    for text in ("+3 ms (+2.5 .. +3.5)", "-1.5 ms (-2 .. -1)", "10 ms", "12 ms", "Run made-up"):
        assert text in page
    assert "op:linear/1x2x3" in page
    assert "<other>" not in page
    assert "&lt;other&gt;" in page
    legend = re.search(r'<p class="legend">(.*?)</p>', page, re.DOTALL)[1]
    said = ("in ms;", "adds time", "saves time", "not shown to differ", "95 % interval")
    assert all(text in legend for text in said)


def test_a_pair_without_a_set_has_no_waterfall():
    pair = Pair(baseline="one", framework="other")
    assert waterfalls(pair) == []
    page = FORMATS["html"](explanation(pair))
    assert '<h1 id="title">No answer yet on other against one</h1>' in page
    assert '<p class="sure">0 of the 3 sets of processes that an answer needs</p>' in page


def test_the_page_begins_with_the_answer_then_how_certain_it_is_and_whether_to_believe_it():
    page = FORMATS["html"](replace(explanation(found()), context=CONTEXT))
    parts = ('<h1 id="title">&lt;other&gt; needs 2 ms more per step than one: no stage '
             'shows a difference, but operators do: 1 ms more in linear</h1>',
             '<p class="sure">1.5 .. 2.5; 12 against 10 ms</p>',
             "By phase: ", '<ul class="chips">', '<li class="warn">', "disturbed",
             '<ul class="fall">', "<table", "How to read this",
             "Machine: 2 cores of made-up", "Command: mbench")  # fmt: skip
    places = [page.find(part) for part in parts]
    assert -1 not in places
    assert places == sorted(places)
    assert "mbench explain --format html" not in page, "where it is read already"
