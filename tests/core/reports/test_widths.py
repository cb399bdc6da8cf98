"""Every report on terminals of every width: no line too wide, no word broken, nothing lost."""

from __future__ import annotations

import re
from functools import partial

import pytest
from screens import on_screen
from summaries import disturbed, proof_of, with_case

from mbench.engine.outcome import CaseEnded
from mbench.proofs.judge import CheckResult
from mbench.reports import differences, history, proof_table
from mbench.reports.compat_formats import dlperf, nvidia, superbench
from mbench.reports.formats import details, table
from mbench.results.difference import differ
from mbench.results.history import History, Point, StepChange

WIDTHS = (40, 60, 80, 100, 120, 160)
SECONDS = {
    "tiny": [[1.0, 1.0], [1.01, 1.0], [1.0, 1.02]],
    "flaky": [[0.0015, 0.0015], [0.00152, 0.0015], [0.0015, 0.00151]],
    "tiny==1.26": [],
}


@pytest.fixture
def wide(summary, proven):
    """Several modes, batches and precisions under long names; one framework fell short."""
    made = summary(
        seconds=SECONDS,
        mode=("train", "inference"),
        batch_size=(8, 4096),
        single={"tiny": [float(ms) for ms in range(1, 21)]},
        ends={"tiny==1.26": CaseEnded("oom", "too few bytes: " + "and more was asked for " * 6)},
        proofs={"tiny": proven.yes, "flaky": proven.no},
    )
    load = disturbed("other processes used {:.1f} of 2 cores", 1.1, share=0.89)
    return with_case(made, disturbances=[load], mfu=0.349)


def history_of(made):
    change = StepChange(run="before", ratio=1.1, low=1.0, high=1.2, verdict="no difference shown")
    points = [
        Point(run=made.run, started=made.started, protocol="adaptive", host="here",
              cpu="a processor of many words", label=case.label, framework=case.framework,
              version=case.version, axes=case.axes, figure=case.throughput, change=change)
        for case in made.cases if case.throughput
    ]  # fmt: skip
    return history.FORMATS["table"](History(points=points))


def proofs_of(made):
    failed = CheckResult("updates", 0.5, 1e-9, "w")
    return proof_table.render(
        [proof_of(failed, outcome="not-equal", label=case.label, case=case.axes)
         for case in made.cases]
    )  # fmt: skip


LEGEND = "samples/s; bar: + ratio, [==] its interval, | equal"
"""The legend of the bar, which is left out together with the bar."""
REPORTS = {
    "table": table,
    "details": details,
    "dlperf": partial(dlperf.render, format_="table"),
    "nvidia": partial(nvidia.render, format_="table"),
    "superbench": partial(superbench.render, format_="table"),
    "diff": lambda made: differences.FORMATS["table"](differ(made, made, fail_if_slower=0.03)),
    "history": history_of,
    "proofs": proofs_of,
}


@pytest.mark.parametrize("name", REPORTS)
def test_no_line_is_wider_no_word_is_broken_and_what_is_left_out_is_named(wide, name):
    render = REPORTS[name]
    whole = on_screen(render(wide))
    assert "left out" not in whole
    said = words(whole)
    for width in WIDTHS:
        shown = on_screen(render(wide), width)
        assert max(map(len, shown.splitlines())) <= width, (name, width)
        note = re.search(r"left out at \d+ columns: .* columns to see all", " ".join(shown.split()))
        told = note[0] if note else ""
        torn = {word for word in said if len(word) > width // 2 - 4}  # may be broken
        strange = {word for word in words(shown) - said if word not in told}
        assert not {w for w in strange if not any(w in long for long in torn)}, (name, width)
        if not told and name != "table":  # it leaves columns out silently
            assert said - torn - words(LEGEND) <= words(shown), (name, width)


def words(text):
    return {word for word in text.split() if not set(word) <= {"─"}}


@pytest.mark.parametrize("width", WIDTHS)
def test_header_and_cells_are_aligned(wide, width):
    lines = on_screen(table(wide), width).splitlines()
    rules = [at for at, line in enumerate(lines) if line.startswith("─")]
    assert rules or width <= 60
    for at in rules:
        row = lines[at + 1].ljust(len(lines[at]))
        for column in re.finditer("─+", lines[at]):
            cell = row[slice(*column.span())]
            ends = cell[0], cell[-1], cell[-2:][0]  # a column ends before the gap
            assert set(ends) != {" "} or not cell.strip(), "to the left or right"
        gaps = [sign for sign, line in zip(row, lines[at], strict=True) if line == " "]
        assert set(gaps) <= {" "}, "nothing stands between columns"


def test_the_answer_stands_first_and_nothing_is_said_twice(wide):
    lines = on_screen(table(wide)).splitlines()
    assert lines[0] == "flaky is faster than tiny in all 4 (668 times as fast)"
    assert lines[-1].startswith(f"Run {wide.run}, complete")
    assert sum("disturbed: " in line for line in lines) == 1
    assert " ".join(lines).count("too few bytes") == 1, "once for all comparisons"


@pytest.mark.parametrize("width", WIDTHS)
def test_a_column_of_nothing_is_neither_shown_nor_missed(wide, width):
    assert "MFU" in on_screen(details(wide), width)
    assert "MFU" not in on_screen(details(with_case(wide, mfu=None)), width)


def test_a_table_at_a_glance_leaves_columns_out_without_a_word(wide):
    shown = on_screen(table(wide), 80)
    assert "left out" not in shown
    assert "MiB" not in shown
