"""Tables and lines for terminals of any width: nothing too wide, no word broken, nothing lost."""

from __future__ import annotations

import re

import pytest

from mbench.reports.grid import Grid, write
from mbench.reports.terminal import WIDTH, drawn, folded, terminal_width

WIDTHS = (40, 60, 80, 100, 120, 160)
COLUMNS = ("framework", "what it is", "throughput", "95 % interval", "peak MiB")
ROWS = [
    ["torch", "eager and first", "5.327 images/s", "4.665 .. 6.084", "1165"],
    ["tf==2.21.0", "", "12345.6 images/s", "0.9 .. 1.1", "87"],
]
NUMERIC = (2, 3, 4)


@pytest.mark.parametrize("width", range(40, 90))
def test_every_width_holds_every_word_whole_and_says_what_it_leaves_out(width):
    lines = drawn(COLUMNS, ROWS, width=width, numeric=NUMERIC, spare=(4, 1), all_in="elsewhere")
    assert max(map(len, lines)) <= width
    shown = " ".join(" ".join(lines).split())
    left = re.search(r"left out at \d+ columns: (.*); elsewhere or a terminal of", shown)
    gone = left[1].split(", ") if left else []
    kept = [at for at, name in enumerate(COLUMNS) if name not in gone]
    assert 0 in kept
    words = {word for row in ROWS for at in kept for word in row[at].split()}
    assert words <= set(shown.split())


def test_numbers_and_their_headers_stand_to_the_right_under_a_line_of_their_width():
    head, rule, *rows = drawn(COLUMNS, ROWS, width=100, numeric=NUMERIC)
    assert [head, rule, *rows] == [
        "framework   what it is             throughput   95 % interval  peak MiB",
        "──────────  ───────────────  ────────────────  ──────────────  ────────",
        "torch       eager and first    5.327 images/s  4.665 .. 6.084      1165",
        "tf==2.21.0                   12345.6 images/s      0.9 .. 1.1        87",
    ]


def test_headers_and_prose_are_folded_before_a_column_is_left_out():
    assert drawn(COLUMNS, ROWS, width=64, numeric=NUMERIC, spare=(4,), all_in="elsewhere") == [
        "framework   what it is          throughput   95 % interval  peak",
        "                                                             MiB",
        "──────────  ────────────  ────────────────  ──────────────  ────",
        "torch       eager and       5.327 images/s  4.665 .. 6.084  1165",
        "            first",
        "tf==2.21.0                12345.6 images/s      0.9 .. 1.1    87",
    ]


def test_columns_go_by_priority_and_the_last_line_names_them():
    *_, said = drawn(COLUMNS, ROWS, width=63, numeric=NUMERIC, spare=(4, 1), all_in="markdown")
    assert said == "  columns has all"
    lines = drawn(COLUMNS, ROWS, width=56, numeric=NUMERIC, spare=(4, 1), all_in="markdown")
    assert lines[-2:] == [
        "left out at 56 columns: what it is, peak MiB; markdown",
        "  or a terminal of 64 columns has all",
    ]


def test_where_the_first_columns_do_not_fit_rows_become_labels_and_values():
    assert drawn(COLUMNS, ROWS, width=40, numeric=NUMERIC, spare=(4, 1)) == [
        "framework        torch",
        "  what it is     eager and first",
        "  throughput     5.327 images/s",
        "  95 % interval  4.665 .. 6.084",
        "  peak MiB       1165",
        "",
        "framework        tf==2.21.0",
        "  throughput     12345.6 images/s",
        "  95 % interval  0.9 .. 1.1",
        "  peak MiB       87",
    ]


@pytest.mark.parametrize("width", WIDTHS)
def test_the_widest_words_and_signs_stay_within_the_width(width):
    wide = "torch@/home/someone/with/a/very/long/path/to/a/python/that/has/no/blank/in/it/anywhere"
    lines = drawn(("framework", "名前"), [[wide, "漢字" * 30], ["", ""]], width=width)
    assert all(len(line) + len(re.findall("[名前漢字]", line)) <= width for line in lines)
    assert wide in "".join("".join(lines).split())


def test_percent_signs_and_intervals_are_not_torn():
    assert folded(["in 11 % of 2 cores, 0.9 .. 1.1 there"], 12) == [
        "in 11 % of 2", "  cores,", "  0.9 .. 1.1", "  there",
    ]  # fmt: skip
    assert folded(["", "amp-bf16 state-of-the-art"], 18) == ["", "amp-bf16", "  state-of-the-art"]


@pytest.mark.parametrize(("columns", "width"), [("60", 60), ("8", 40), ("x", WIDTH), ("0", WIDTH)])
def test_the_width_is_the_terminals_and_forty_at_least(monkeypatch, columns, width):
    monkeypatch.setenv("COLUMNS", columns)
    assert terminal_width() == width


@pytest.mark.parametrize("width", WIDTHS)
def test_a_grid_with_its_title_and_footnotes_is_within_the_width(monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    grid = Grid("a title that goes on and on " * 4, ("case", "a b c d e f g h i", "n"))
    mark = grid.note("a footnote of many words " * 8)
    grid.rows.append(["resnet50 train, batch 8, fp32, eager, cpu", f"a {mark}", 12345.678])
    shown = write([grid], format_="table")
    assert max(map(len, shown.splitlines())) <= width
    assert "12345.68" in shown.split()
