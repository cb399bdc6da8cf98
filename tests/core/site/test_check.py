"""Which runs are fit to be published, and why others are not."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner
from support import commands

import mbench
from mbench.cli.main import group
from mbench.engine.outcome import CaseEnded
from mbench.results import events
from mbench.results.encoding import encode
from mbench.site import check as checks
from mbench.site.check import NAMES, check
from mbench.spec.adaptive import Adaptive

STEADY = [[1.0, 1.1], [1.02, 1.0], [1.0, 1.05]]
PAIR = {"tiny": STEADY, "flaky": [[1.5, 1.5]] * 3}


@pytest.fixture(autouse=True)
def shipped_and_released(monkeypatch):
    """Lets runs of fixtures, which name no distribution and no code, pass these two checks."""
    monkeypatch.setattr(checks, "OURS", "unknown")
    monkeypatch.setattr(checks, "our_digest", lambda: "")


@pytest.fixture
def good(write_run, proven):
    return write_run(seconds=PAIR, proofs=dict.fromkeys(PAIR, proven.yes))


def failed(place, **given):
    return check(place, **given).failed


def found(place, name):
    return next(one.text for one in check(place).findings if one.name == name)


def test_a_folder_of_runs_is_not_taken_for_a_run(tmp_path, monkeypatch):
    """Its path may be relative or absolute."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "all" / "runs").mkdir(parents=True)
    for place in (Path("all"), Path("all", "runs"), tmp_path / "all"):
        done = CliRunner().invoke(group, ["check", str(place)])
        assert str(done.exception) == (
            f"{place} is a folder without run.jsonl, so it is not a run; give a run's folder, "
            f"such as {place / 'RUN'}"
        )


def test_a_run_that_is_all_of_it_passes(good):
    made = check(good)
    assert made.failed == []
    assert [one.name for one in made.findings] == list(NAMES)


@pytest.mark.parametrize(
    ("made", "fails", "why"),
    [
        ({"status": "interrupted"}, ["whole"], "the run is interrupted"),
        ({"status": None}, ["whole", "unedited"], "the run is unfinished"),
        ({"proofs": {}}, ["proven"], "not checked"),
        ({"ends": {name: CaseEnded("oom", "too large") for name in PAIR}}, ["whole", "proven"],
         "no case was measured"),
    ],
)  # fmt: skip
def test_what_is_lacking_is_named(write_run, proven, made, fails, why):
    place = write_run(seconds=PAIR, **{"proofs": dict.fromkeys(PAIR, proven.yes), **made})
    assert failed(place) == fails
    assert any(why in one.text for one in check(place).findings if not one.passed)


def test_a_proof_that_failed_says_by_which_check(write_run, proven):
    place = write_run(seconds=PAIR, proofs={"tiny": proven.yes, "flaky": proven.no})
    assert failed(place) == ["proven"]
    assert "change of w off by 0.5" in found(place, "proven")


def rewritten(place, change):
    file = place / "run.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    change(lines)
    file.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    return place


@pytest.mark.parametrize(
    ("version", "why"),
    [
        ("0.1.0.dev3", "is not a release"), ("0.1.0rc1", "is not a release"),
        ("0.1.0+mine", "is not a release"), ("99.0", "is newer than this"),
        ("best", "is not a version of mbench"),
    ],
)  # fmt: skip
def test_other_versions_than_released_ones_are_named(good, version, why):
    rewritten(good, lambda lines: lines[0].update(mbench=version))
    assert why in found(good, "released")


def test_changed_code_of_the_same_version_is_found(good):
    rewritten(good, lambda lines: lines[0].update(source="0123"))
    assert "its code differs from that of mbench" in found(good, "released")


def test_every_continuation_is_looked_at(good):
    """The last one may have had the code of a release where an earlier one had not."""
    resumed = [
        events.Resumed(arguments=["mbench"], mbench=mbench.__version__, source=source,
                       at="2026-01-02T15:04:00+00:00", protocol=Adaptive())
        for source in ("0123", "")
    ]  # fmt: skip
    added = [json.loads(encode(one)) for one in resumed]
    rewritten(good, lambda lines: lines.__setitem__(slice(-1, -1), added))
    assert "released" in failed(good)
    assert "its code differs from that of mbench" in found(good, "released")


def test_an_external_adapter_is_named(good, monkeypatch):
    monkeypatch.setattr(checks, "OURS", "mbench-dl")
    assert failed(good) == ["shipped"]
    assert "an adapter of unknown" in found(good, "shipped")


def test_other_mbench_are_not_quiet(good):
    other = {"event": "other_mbench", "pid": 7, "since": "2026-01-02T15:04:00+00:00"}
    rewritten(good, lambda lines: lines.insert(1, other))
    assert "1 other mbench process measured" in found(good, "quiet")


def edit(lines):
    lines[2]["label"] = "other"


def test_an_edited_run_is_named_even_where_it_still_reads_well(good):
    assert "unedited" in failed(rewritten(good, edit))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is empty"), ("{}\n", "is not a run"), ("\0" * 100, "is not a run"),
        ('{"event":"run","schema":99,"mbench":"9.0"}\n', "upgrade mbench"),
        ('{"event":"run","schema":1' + "0" * 400 + ',"mbench":"x"}\n', "upgrade mbench"),
    ],
)  # fmt: skip
def test_what_is_no_run_is_not_whole(tmp_path, text, why):
    file = tmp_path / "run.jsonl"
    file.write_text(text)
    assert "whole" in failed(file)
    assert why in check(file).findings[0].text


def test_a_damaged_line_is_not_whole(good):
    file = good / "run.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    lines[4] = '{"event": 10e400}\n'
    file.write_text("".join(lines))
    assert "whole" in failed(good)
    assert "line 5" in found(good, "whole")


def test_what_is_allowed_may_fail(write_run):
    place = write_run(seconds=PAIR)
    assert failed(place, allowed=["proven"]) == []


@pytest.fixture
def run(tmp_path):
    def run(*arguments):
        return CliRunner().invoke(group, ["check", *map(str, arguments)])

    return run


def test_the_command_answers_first_and_fails_where_one_fails(run, good):
    made = run(good)
    assert made.exit_code == 0
    assert made.stdout.splitlines()[0] == f"{good.name} can be published"
    rewritten(good, edit)
    made = run(good, "--format", "json")
    assert made.exit_code == 1
    (table,) = json.loads(made.stdout)["tables"]
    assert table["title"] == f"{good.name} should not be published: not unedited"
    assert {row["check"] for row in table["rows"] if row["state"] == "FAIL"} == {"unedited"}


def test_the_latest_run_is_checked_where_none_is_named(run, good, tmp_path):
    made = run("--results", tmp_path / "results")
    assert made.stdout.startswith(good.name)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [(["--allow", "haste"], "unknown check 'haste'"), (["./none"], "no run")],
)
def test_wrong_usage_is_one_line(run, arguments, why):
    made = run(*arguments)
    assert made.exit_code != 0
    assert why in str(made.exception)


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "run.jsonl")
    assert "not a regular file" in check(tmp_path / "run.jsonl").findings[0].text


def test_no_file_loosens_the_gate(good, tmp_path):
    """A submitted folder may contain an mbench.toml, which must not allow anything."""
    folder = tmp_path / "submission"
    folder.mkdir()
    (folder / "mbench.toml").write_text('[check]\nallow = ["proven"]\n')
    done = commands.mbench("check", str(good), cwd=folder)
    assert done.returncode == 2
    assert "allow" in done.stderr
