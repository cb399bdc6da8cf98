"""A file's ending decides its format, and no other format is written into it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from mbench.cli.formats import by_ending
from mbench.cli.main import group
from mbench.errors import UsageError

KNOWN = ("table", "json", "csv", "markdown", "html", "own")


@pytest.mark.parametrize(
    ("name", "chosen", "format_"),
    [
        (None, None, "table"),
        (None, "csv", "csv"),
        ("a.json", None, "json"),
        ("a.JSON", None, "json"),
        ("a.md", None, "markdown"),
        ("a.htm", None, "html"),
        ("a.own", None, "own"),
        ("a.txt", None, "table"),
        ("a.txt", "csv", "csv"),
        ("a", None, "table"),
        ("a.csv", "csv", "csv"),
        ("folder.json/a", None, "table"),
    ],
)
def test_the_ending_says_the_format(name, chosen, format_):
    output = Path(name) if name else None
    assert by_ending(output, chosen=chosen, known=KNOWN, usual="table") == format_


@pytest.mark.parametrize(
    ("name", "chosen", "said"),
    [
        ("a.json", "csv", "--format csv contradicts --output a.json; give one of them"),
        ("a.parquet", "csv", "--format csv contradicts --output a.parquet"),
        ("a.parquet", None, "--output a.parquet would hold parquet, which this command"),
        ("a.xml", None, "--output a.xml would hold junit"),
    ],
)
def test_a_file_of_another_format_is_refused(name, chosen, said):
    with pytest.raises(UsageError, match=said):
        by_ending(Path(name), chosen=chosen, known=KNOWN, usual="table")


@pytest.mark.parametrize("words", [["--output"], ["--format", "json", "--output"]])
def test_show_writes_json_into_a_file_of_json(write_run, tmp_path, words):
    run, path = write_run(seconds={"tiny": [[1.0]]}), tmp_path / "run.json"
    found = CliRunner().invoke(group, ["show", str(run), *words, str(path)])
    assert found.exit_code == 0, found.output
    assert json.loads(path.read_text())["run"] == run.name


@pytest.mark.parametrize(
    "command", [["show"], ["report"], ["export"], ["history"], ["diff", "a", "b"]]
)
def test_every_command_that_writes_refuses_a_foreign_ending(tmp_path, command):
    found = CliRunner().invoke(
        group, [*command, "--output", str(tmp_path / "x.xml"), "--results", str(tmp_path)]
    )
    foreign = "would hold junit" in str(found.exception)
    assert foreign == (command[0] not in ("diff", "show"))  # these two can write JUnit
    assert not (tmp_path / "x.xml").exists()


def test_a_file_that_is_needed_is_asked_for(write_run):
    run = write_run(seconds={"tiny": [[1.0]]})
    found = CliRunner().invoke(group, ["export", "--results", str(run.parent)])
    assert "parquet needs a file: give --output FILE, or --format csv" in str(found.exception)


def test_verbose_shows_every_figure_and_note(write_run):
    folder = write_run(seconds={"tiny": [[1.0]] * 3, "flaky": [[2.0]] * 3})
    brief, whole, named = (
        CliRunner().invoke(group, ["show", str(folder), *more]).output
        for more in ([], ["-v"], ["--format", "details"])
    )
    assert whole == named
    assert whole.startswith(brief.rstrip("\n"))
    assert "median of rounds" in whole
    assert "median of rounds" not in brief
