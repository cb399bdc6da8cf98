"""What the user is told on a terminal and in a log."""

from __future__ import annotations

import io

import pytest

from mbench.engine.outcome import CaseEnded
from mbench.harness.progress import LinesProgress, LiveProgress, open_progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    return Terminal()


def test_terminals_get_live_rows_and_others_lines(terminal):
    assert isinstance(open_progress(terminal), LiveProgress)
    assert isinstance(open_progress(io.StringIO()), LinesProgress)


def test_lines_say_each_change_once():
    out = io.StringIO()
    progress = open_progress(out)
    progress.comparison("model train", ["a", "b"])
    for text in ("starting", "starting", "warming up"):
        progress.phase("a", text)
    progress.phase("b", "starting")
    for number in (1, 2, 3):
        progress.round("a", number, 3)
        progress.throughput("a", 10.0)
    progress.ended("b", CaseEnded("oom", "too large"))
    progress.close()
    assert out.getvalue().splitlines() == [
        "== model train: a, b",
        "a: starting",
        "a: warming up",
        "b: starting",
        "a: measuring, 3 rounds",
        "b: oom: too large",
    ]


def test_a_new_comparison_says_its_phases_anew():
    out = io.StringIO()
    progress = open_progress(out)
    for title in ("one", "two"):
        progress.comparison(title, ["a"])
        progress.phase("a", "starting")
    assert out.getvalue().count("a: starting") == 2


def test_live_rows_show_phase_rounds_and_rate(terminal):
    progress = open_progress(terminal)
    progress.comparison("model train", ["torchy", "b"])
    progress.round("torchy", 1, 5)
    progress.throughput("torchy", 123.456)
    progress.ended("b", CaseEnded("oom", "too large"))
    shown = terminal.getvalue().rpartition("model train")[2]
    for text in ("torchy", "stopped, others' turn", "123.5", "oom: too large"):
        assert text in shown
    progress.close()


def test_nothing_is_drawn_while_a_block_is_timed(terminal):
    """Between a round's beginning and the next there is no drawing, nor a thread that could."""
    progress = open_progress(terminal)
    progress.comparison("t", ["a"])
    progress.round("a", 1, 5)
    before = terminal.getvalue()
    progress.throughput("a", 1.0)
    assert terminal.getvalue() == before
    assert progress.live is not None
    assert progress.live.auto_refresh is False
    progress.close()


def test_labels_are_text_and_never_markup(terminal):
    progress = open_progress(terminal)
    progress.phase("[red]x[/red]", "[bold]building[/]")
    progress.comparison("t", ["[red]y[/red]"])
    progress.phase("[red]y[/red]", "[blink]z")
    shown = terminal.getvalue()
    for text in ("[red]x[/red]: [bold]building[/]", "[red]y[/red]", "[blink]z"):
        assert text in shown
    progress.close()


def test_a_title_is_text_and_never_markup(terminal):
    progress = open_progress(terminal)
    progress.comparison("model [/] [red]train", ["a"])
    progress.phase("a", "doing something wide")
    assert "model [/] [red]train" in terminal.getvalue()
    progress.close()


def test_closing_shows_the_cursor_again_and_may_be_repeated(terminal):
    progress = open_progress(terminal)
    progress.comparison("t", ["a"])
    progress.close()
    progress.close()
    shown = terminal.getvalue()
    assert shown.rfind("\x1b[?25h") > shown.rfind("\x1b[?25l")
