"""A plugin's scenario and metric work wherever cases are listed, planned, proven or reported."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil

import pytest
from support import commands, echo

from mbench.results.folder import EVENTS_FILE

MEASURE = ["compare", "tiny", "flaky", "--models", "tiny-model", "--mode", "echo", "--threads", "1",
           "--processes", "2", "--rounds", "2", "--block", "0.02", "--no-mfu"]  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder in which the plugin is installed."""
    folder = tmp_path_factory.mktemp("home")
    shutil.copy(echo.__file__, folder / "mbench_echo.py")
    info = folder / "mbench_echo-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mbench-echo\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[mbench]\nmbench_echo = mbench_echo\n")
    return folder


@pytest.fixture(scope="module")
def run(home):
    """A function that runs a command with the plugin installed, and returns what it prints."""

    def run(*arguments, variables=None):
        paths = os.pathsep.join([str(home), os.environ.get("PYTHONPATH", "")])
        done = commands.mbench(
            *arguments, cwd=home,
            env={**os.environ, "PYTHONPATH": paths, "COLUMNS": "250", "FLAKY": "",
                 "MBENCH_CALIBRATIONS": "calibrations", "MBENCH_RESULTS": "results",
                 "MBENCH_PROOFS": "proofs", **(variables or {})},
        )  # fmt: skip
        assert done.returncode in (0, 1, 2, 3), done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        return done.stderr if done.returncode == 2 else done.stdout

    return run


@pytest.fixture(scope="module")
def measured(run, home):
    """The names of two runs, the older one first."""
    for _ in range(2):
        run(*MEASURE, "--format", "json")
    return sorted(folder.name for folder in (home / "results").glob("*/"))


@pytest.fixture(scope="module")
def document(run, measured):
    return json.loads(run("show", measured[-1], "--format", "json"))


def test_it_is_listed_and_offered(run):
    assert re.search(r"echo +several forward passes", run("list", "modes"))
    words = {"COMP_WORDS": "mbench compare --mode ec", "COMP_CWORD": "3",
             "_MBENCH_COMPLETE": "bash_complete"}  # fmt: skip
    assert "echo" in run(variables=words)
    assert "unknown mode 'echa'; did you mean echo?" in run(
        *MEASURE[:5], "--mode", "echa", "--dry-run"
    )


def test_it_is_planned(run):
    assert "tiny-model echo" in run(*MEASURE, "--dry-run")


def test_it_is_proven(run, document):
    proofs = json.loads(
        run("verify", "tiny", "--models", "tiny-model", "--mode", "echo", "--format", "json")
    )["proofs"]
    (proof,) = proofs
    assert proof["mode"] == "echo"
    assert proof["proof"]["proven"], proof
    for case in document["cases"]:
        assert case["outcome"] == "ok", case["reason"]
        assert case["equal_work"]["proven"]


def test_a_lie_about_it_shows(run):
    arguments = ("verify", "flaky", "--models", "tiny-model", "--mode", "echo", "--fresh",
                 "--format", "json")  # fmt: skip
    lied = json.loads(run(*arguments, variables={"FLAKY": "doubled"}))
    assert not lied["proofs"][0]["proof"]["proven"]


def test_the_document_has_its_metric(document):
    (comparison,) = document["comparisons"]
    assert comparison["metric"] == "time_to_first"
    for case in document["cases"]:
        assert case["mode"] == "echo"
        assert case["flops_per_sample"] == 3 * 2 * 256 * 64
        first, step = case["metrics"]["time_to_first"], case["metrics"]["throughput"]
        assert 0 < first["value"] < case["batch_size"] / step["value"] * 1e3


def test_marks_are_raw_values_of_the_run(home, measured):
    blocks = [
        json.loads(line)
        for line in (home / "results" / measured[-1] / EVENTS_FILE).read_text().splitlines()
        if '"block"' in line.lower()
    ]
    marks = [block["marks"] for block in blocks if block.get("marks")]
    assert marks
    for found in marks:
        assert list(found) == ["first", "second", "third"]
        for instants in zip(*found.values(), strict=True):
            assert sorted(instants) == list(instants)


def test_every_report_shows_it(run, measured):
    assert "time to first pass" in run("show", measured[-1])
    rows = list(csv.DictReader(io.StringIO(run("show", measured[-1], "--format", "csv"))))
    assert {row["mode"] for row in rows} == {"echo"}
    for format_ in ("markdown", "html"):
        text = run("show", measured[-1], "--format", format_)
        assert "echo" in text
        assert "time to first pass" in text


def test_history_and_diff_take_it(run, measured):
    assert "echo" in run("history", "--metric", "time_to_first")
    options = ("--allow-unchecked", "--metric", "time_to_first", "--fail-if-slower", "50%")
    said = run("diff", *measured, *options)
    assert "tiny-model echo" in said
