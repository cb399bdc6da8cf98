"""Messages are broken between words on a terminal, and are one line elsewhere."""

from __future__ import annotations

import io
import sys

import pytest

from mbench.console import tell

SAID = "a set did not fit; the same command with --resume 20260102-150405-abcd adds what is lacking"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("columns", [30, 80])
def test_a_terminal_gets_whole_words(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    tell(SAID)
    lines = terminal.getvalue().splitlines()
    assert len(lines) > 1
    assert max(map(len, lines)) <= columns
    assert all(line.startswith("  ") for line in lines[1:])
    assert " ".join(" ".join(lines).split()) == f"mbench: {SAID}"


def test_a_file_gets_one_line(capsys):
    tell(SAID)
    assert capsys.readouterr().err == f"mbench: {SAID}\n"
