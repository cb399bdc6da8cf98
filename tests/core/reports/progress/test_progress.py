"""What the user is told on a terminal and in a log."""

from __future__ import annotations

import io
import re

import pytest

from mbench.engine.outcome import CaseEnded
from mbench.measure.activity import (
    BlockBegan,
    BlockEnded,
    CaseStopped,
    ComparisonBegan,
    Decision,
    MeasuringBegan,
    PhaseBegan,
    ProcessBegan,
    RunPlanned,
    Stored,
)
from mbench.reports.progress import open_progress
from mbench.reports.progress.lines import LinesProgress
from mbench.reports.progress.live import LiveProgress
from mbench.results import events


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


@pytest.fixture
def live(terminal):
    made = LiveProgress(terminal, every_seconds=3600)
    yield made
    made.close()


@pytest.fixture
def out():
    return io.StringIO()


@pytest.fixture
def lines(out, clock):
    made = LinesProgress(out, clock=clock)
    yield made
    made.close()


def said(out):
    """The lines without the time of day that each begins with."""
    found = [re.fullmatch(r"\d\d:\d\d:\d\d (.*)", line) for line in out.getvalue().splitlines()]
    assert all(found)
    return [line[1] for line in found]


def test_terminals_get_live_rows_and_others_lines(terminal):
    assert isinstance(open_progress(terminal), LiveProgress)
    assert isinstance(open_progress(io.StringIO()), LinesProgress)


def test_a_terminal_that_cannot_move_back_gets_lines(terminal, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(open_progress(terminal), LinesProgress)


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_quiet_says_nothing(stream):
    out = stream()
    progress = open_progress(out, verbosity="quiet")
    progress.hear(ComparisonBegan("t", ("a",)))
    progress.hear(PhaseBegan("a", "starting"))
    progress.hear(CaseStopped("a", CaseEnded("oom", "too large")))
    progress.hear(Decision("this"))
    progress.close()
    assert out.getvalue() == ""


def test_lines_say_each_change_once(lines, out):
    lines.hear(RunPlanned((160.0,)))
    lines.hear(ComparisonBegan("model train", ("a", "b")))
    lines.hear(MeasuringBegan(5, 160.0))
    lines.hear(ProcessBegan(1))
    for text in ("starting", "starting", "warming up"):
        lines.hear(PhaseBegan("a", text))
    lines.hear(PhaseBegan("b", "starting"))
    for number in (1, 2, 3):
        lines.hear(BlockBegan("a", "round", number - 1, 3, 0.3))
        lines.hear(BlockEnded("a", 10.0))
    lines.hear(CaseStopped("b", CaseEnded("oom", "too large")))
    assert said(out) == [
        "== model train: a, b",
        "process 1 of 5; 0 s elapsed, at most 3 min left",
        "a: starting",
        "a: warming up",
        "b: starting",
        "a: measuring, 3 rounds",
        "b: oom: too large",
    ]


def test_a_new_comparison_says_which_it_is_and_its_phases_anew(lines, out):
    lines.hear(RunPlanned((None, None)))
    for title in ("one", "two"):
        lines.hear(ComparisonBegan(title, ("a",)))
        lines.hear(PhaseBegan("a", "starting"))
    assert said(out) == [
        "== one: a (comparison 1 of 2; 0 s elapsed)", "a: starting",
        "== two: a (comparison 2 of 2; 0 s elapsed)", "a: starting",
    ]  # fmt: skip


def test_a_long_phase_is_said_to_go_on_after_a_minute_without_a_line(lines, out, clock):
    lines.hear(ComparisonBegan("t", ("a",)))
    lines.hear(PhaseBegan("a", "proving"))
    clock.now += 59
    lines.tick()
    assert len(said(out)) == 2
    clock.now += 1
    lines.tick()
    lines.tick()
    assert said(out)[2:] == ["a: still proving, after 60 s; 60 s elapsed"]
    lines.hear(BlockBegan("a", "round", 6, 30, 1))
    clock.now += 60
    lines.tick()
    assert said(out)[3:] == ["a: still measuring, round 7 of 30, after 60 s; 2 min elapsed"]


def test_what_is_over_does_not_go_on(lines, out, clock):
    lines.hear(ComparisonBegan("t", ("a", "b")))
    lines.hear(PhaseBegan("a", "proven", over=True))
    clock.now += 61
    lines.tick()
    assert said(out)[1:] == ["a: proven"]


def test_who_goes_on_is_named_where_the_last_one_heard_of_is_done(lines, out, clock):
    lines.hear(ComparisonBegan("t", ("a", "b")))
    lines.hear(PhaseBegan("b", "proving updates"))
    clock.now += 5
    lines.hear(PhaseBegan("a", "proven", over=True))
    clock.now += 60
    lines.tick()
    assert said(out)[3:] == ["b: still proving updates, after 65 s; 65 s elapsed"]


def test_verbose_lines_say_what_was_decided_why_and_where_logs_are(out):
    lines = LinesProgress(out, verbose=True)
    for event in (
        events.Process(
            case=0, process=1, pid=7, prepare_seconds=2.0, trainable_parameters=1, differences=[],
            batches=8, first_loss=None, first_step_nanoseconds=1, warmup_blocks=[(9, 1)],
            warmup_reason="steady",
        ),
        events.Outcome(case=0, outcome="crashed", reason="gone", log="logs/a.log"),
        events.Memory(case=0, process=0, peak_bytes=1, idle_look=1),
        events.ComparisonEnd(comparison=0, reason="all processes measured"),
    ):  # fmt: skip
        lines.labels[0] = "a"
        lines.hear(Stored(event))
    lines.hear(Decision("3 rounds"))
    assert said(out) == [
        "a: process 2 is warm after 10 steps (steady), prepared in 2.0 s, pid 7",
        "a: its log is logs/a.log",
        "measurement ends: all processes measured",
        "3 rounds",
    ]


def test_decisions_are_not_said_unasked(lines, out):
    lines.hear(Decision("3 rounds"))
    lines.hear(Stored(events.ComparisonEnd(comparison=0, reason="all processes measured")))
    assert said(out) == []


def test_live_rows_show_where_the_run_is_and_how_long_it_takes(live, terminal):
    live.hear(RunPlanned((160.0, 160.0)))
    live.hear(ComparisonBegan("model train", ("torchy", "b")))
    live.hear(MeasuringBegan(5, 160.0))
    live.hear(ProcessBegan(2))
    live.hear(BlockBegan("torchy", "round", 0, 5, 0.3))
    live.hear(BlockEnded("torchy", 123.456))
    live.hear(CaseStopped("b", CaseEnded("oom", "too large")))
    shown = terminal.getvalue().rpartition("model train")[2]
    for text in (
        "comparison 1 of 2, process 2 of 5", "torchy", "paused", "123.5 samples/s",
        "oom: too large", "s elapsed, at most", "% of the budget of 3 min",
    ):  # fmt: skip
        assert text in shown


def test_something_moves_while_nothing_is_told(terminal):
    live = LiveProgress(terminal, every_seconds=0.01)
    live.hear(ComparisonBegan("t", ("a",)))
    live.hear(PhaseBegan("a", "warming up"))
    frame = live.frame
    for _ in range(2000):
        if live.frame > frame + 2:
            break
        live.ticker._over.wait(0.01)
    live.close()
    assert live.frame > frame + 2


def test_nothing_is_drawn_while_a_block_is_timed(terminal):
    live = LiveProgress(terminal, every_seconds=0.01)
    live.hear(ComparisonBegan("t", ("a",)))
    live.hear(BlockBegan("a", "round", 0, 5, 0.3))
    with live.quiet():
        before = terminal.getvalue()
        live.ticker._over.wait(0.1)
        live.hear(BlockEnded("a", 1.0))
        live.hear(PhaseBegan("a", "something"))
        assert terminal.getvalue() == before
    assert terminal.getvalue() != before
    live.close()


def test_a_long_block_is_announced_with_a_mark_that_moves_by_itself(live, terminal):
    live.hear(ComparisonBegan("t", ("a",)))
    live.hear(BlockBegan("a", "round", 0, 5, 14.0))
    assert re.search(r"round 1 of 5, takes about 14 s from \d\d:\d\d:\d\d", terminal.getvalue())
    assert re.search(r"\x1b\[[\d;]*\b5\b[\d;]*m● ", terminal.getvalue())


def test_labels_are_text_and_never_markup(live, terminal):
    live.hear(PhaseBegan("[red]x[/red]", "[bold]building[/]"))
    live.hear(ComparisonBegan("model [/] [red]train", ("[red]y[/red]",)))
    live.hear(PhaseBegan("[red]y[/red]", "[blink]z"))
    shown = terminal.getvalue()
    for text in ("[red]x[/red]: [bold]building[/]", "[red]y[/red]", "[blink]z",
                 "model [/] [red]train"):  # fmt: skip
        assert text in shown


@pytest.mark.parametrize("width", ["20", "40", "80"])
def test_rows_stay_within_the_terminal(terminal, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", width)
    live = LiveProgress(terminal, color=False, every_seconds=3600)
    live.hear(
        ComparisonBegan(
            "a title that is longer than the terminal is wide " * 2, ("torch", "b" * 30)
        )
    )
    live.hear(PhaseBegan("torch", "Downloading something-with-a-long-name-1.0 (572.4 MB)"))
    live.close()
    plain = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", terminal.getvalue())
    assert max(map(len, plain.replace("\r", "\n").splitlines())) <= int(width)


def test_closing_shows_the_cursor_again_and_may_be_repeated(live, terminal):
    live.hear(ComparisonBegan("t", ("a",)))
    live.close()
    live.close()
    shown = terminal.getvalue()
    assert shown.rfind("\x1b[?25h") > shown.rfind("\x1b[?25l")
