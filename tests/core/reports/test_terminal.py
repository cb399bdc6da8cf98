"""Tables and lines for terminals of any width: nothing too wide, no word broken, nothing lost."""

from __future__ import annotations

import io
import re

import pytest
from rich.text import Text
from screens import on_screen

from mbench.reports.grid import Grid, write
from mbench.reports.terminal import THEME, Screen, Sentences, joined, paragraphs

WIDTHS = (40, 60, 80, 100, 120, 160)
COLUMNS = ("framework", "what it is", "throughput", "95 % interval", "peak MiB")
ROWS = [
    ["torch", "eager and first", "5.327 images/s", "4.665 .. 6.084", "1165"],
    ["tf==2.21.0", "", "12345.6 images/s", "0.9 .. 1.1", "87"],
]
NUMERIC = frozenset(COLUMNS[2:])


def drawn(width, *spare, columns=COLUMNS, rows=ROWS, all_in="elsewhere"):
    grid = Grid("", columns, rows, numeric=NUMERIC, spare=spare, all_in=all_in)
    return on_screen(grid, width).splitlines()


@pytest.mark.parametrize("width", range(40, 90))
def test_every_width_holds_every_word_whole_and_says_what_it_leaves_out(width):
    lines = drawn(width, "peak MiB", "what it is")
    assert max(map(len, lines)) <= width
    shown = " ".join(" ".join(lines).split())
    left = re.search(r"left out at \d+ columns: (.*); use elsewhere or a terminal of", shown)
    gone = left[1].split(", ") if left else []
    kept = [at for at, name in enumerate(COLUMNS) if name not in gone]
    assert 0 in kept
    words = {word for row in ROWS for at in kept for word in row[at].split()}
    assert words <= set(shown.split())


def test_numbers_and_their_headers_stand_to_the_right_under_a_line_of_their_width():
    assert drawn(100) == drawn(None) == [
        "framework   what it is             throughput   95 % interval  peak MiB",
        "─────────── ──────────────── ───────────────── ─────────────── ────────",
        "torch       eager and first    5.327 images/s  4.665 .. 6.084      1165",
        "tf==2.21.0                   12345.6 images/s      0.9 .. 1.1        87",
    ]  # fmt: skip


def test_headers_and_prose_are_folded_before_a_column_is_left_out():
    assert drawn(64, "peak MiB") == [
        "                                                            peak",
        "framework   what it is          throughput   95 % interval   MiB",
        "─────────── ───────────── ───────────────── ─────────────── ────",
        "torch       eager and       5.327 images/s  4.665 .. 6.084  1165",
        "            first",
        "tf==2.21.0                12345.6 images/s      0.9 .. 1.1    87",
    ]


def test_columns_go_by_priority_and_the_last_line_names_them():
    *_, said = drawn(63, "peak MiB", "what it is", all_in="markdown")
    assert said == "  64 columns to see all"
    assert drawn(56, "peak MiB", "what it is", all_in="markdown")[-2:] == [
        "left out at 56 columns: what it is, peak MiB; use",
        "  markdown or a terminal of 64 columns to see all",
    ]


def test_where_the_first_columns_do_not_fit_rows_become_labels_and_values():
    assert drawn(40, "peak MiB", "what it is") == [
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
    lines = drawn(width, columns=("framework", "名前"), rows=[[wide, "漢字" * 30], ["", ""]])
    assert all(len(line) + len(re.findall("[名前漢字]", line)) <= width for line in lines)
    assert wide in "".join("".join(lines).split())


def test_percent_signs_and_intervals_are_not_torn():
    assert on_screen(Sentences(["in 11 % of 2 cores, 0.9 .. 1.1 there"]), 12).splitlines() == [
        "in 11 % of 2", "  cores,", "  0.9 .. 1.1", "  there",
    ]  # fmt: skip
    assert on_screen(Sentences(["amp-bf16 state-of-the-art"]), 18).splitlines() == [
        "amp-bf16", "  state-of-the-art",
    ]  # fmt: skip


def test_lines_of_files_and_pipes_are_whole():
    said = "word " * 5000 + "end"
    assert on_screen(Sentences([said])) == f"{said}\n"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("columns", "terminal", "pipe"),
    [("60", 60, 60), ("8", 40, 40), ("x", 80, None), ("0", 80, None), ("", 80, None)],
)
def test_the_width_is_the_terminals_and_forty_at_least(monkeypatch, columns, terminal, pipe):
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr("os.get_terminal_size", lambda *_: (_ for _ in ()).throw(OSError()))
    assert Screen.of(Terminal()).width == terminal
    assert Screen.of(io.StringIO()).width == pipe


@pytest.mark.parametrize("width", WIDTHS)
def test_a_grid_with_its_title_and_footnotes_is_within_the_width(width):
    grid = Grid("a title that goes on and on " * 4, ("case", "a b c d e f g h i", "n"))
    mark = grid.note("a footnote of many words " * 8)
    grid.rows.append(["resnet50 train, batch 8, fp32, eager, cpu", f"a {mark}", 12345.678])
    shown = on_screen(write([grid], format_="table"), width)
    assert max(map(len, shown.splitlines())) <= width
    assert "12345.68" in shown.split()


def test_colours_add_nothing_but_colour_and_tell_bad_things_apart(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")  # has no effect: on_screen chooses
    parts = [("a is 2 times as fast as b", "winner"), ("proven", "proven"),
             ("NOT PROVEN", "unproven"), ("DISTURBED", "disturbed"), ("oom", "failed")]  # fmt: skip
    said = joined(Text(*part) for part in parts)
    report = paragraphs([Sentences([said]), Grid("", ("a", "b"), [["x", said]])])
    shown = on_screen(report, 30, colour=True)
    plain = re.sub("\x1b\\[[0-9;]*m *", "", shown)
    assert "".join(plain.split()) == "".join(on_screen(report, 30).split())
    codes = {name: THEME.styles[name].color.number for _, name in parts[1:]}
    assert len(set(codes.values())) == len(codes)
    assert "\x1b[1;32ma is 2 times as fast as b\x1b[0m" in shown
    assert "\x1b[1ma\x1b[0m" in shown, "headings are bold"


def test_nothing_that_a_terminal_would_obey_gets_through():
    hostile = "a\x1b[31m\x07\u2028 b\r\nc"
    report = paragraphs([Sentences([hostile, Text(hostile, "winner")]), Grid(hostile, (hostile,))])
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u2028]", on_screen(report))
