"""Colour can be chosen; files and pipes have none by default."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from mbench.cli.main import group

ESCAPE = "\x1b["


@pytest.fixture
def shown(write_run):
    """Runs `mbench show` on a made-up run with the given arguments; returns what it prints."""
    folder = write_run(seconds={"tiny": [[1.0]] * 3, "flaky": [[2.0]] * 3})

    def shown(*arguments):
        result = CliRunner().invoke(group, ["show", str(folder), *arguments], color=True)
        assert result.exit_code == 0, result.output
        return result.stdout

    return shown


@pytest.mark.parametrize(
    ("variables", "arguments", "coloured"),
    [
        ({}, (), False),
        ({"FORCE_COLOR": "1"}, (), True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, (), False),
        ({"FORCE_COLOR": "1"}, ("--color", "never"), False),
        ({"NO_COLOR": "1"}, ("--color", "always"), True),
        ({}, ("--color", "always", "--format", "csv"), False),
    ],
)
def test_colour_is_the_options_then_the_variables_and_then_the_terminals(
    shown, monkeypatch, variables, arguments, coloured
):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert (ESCAPE in shown(*arguments)) is coloured


def test_a_file_has_no_colour(shown, tmp_path):
    shown("--color", "always", "--output", str(tmp_path / "report.txt"))
    assert ESCAPE not in (tmp_path / "report.txt").read_text()
