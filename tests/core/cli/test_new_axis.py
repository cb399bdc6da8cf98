"""One line in the table of axes is enough for a new axis to appear wherever cases are named."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mbench

LINE = 'copies: int = field(default=1, metadata={"says": "Made up.", "word": "{} copies"})'
SUITE = '[[sweep]]\nmodels = ["tiny-model"]\ncopies = [1, 2]\n'
COMPARE = ["compare", "--frameworks", "tiny,flaky", "--models", "tiny-model", "--threads", "1"]
MEASURE = ["--processes", "1", "--rounds", "1", "--block", "0.01", "--no-verify", "--no-mfu"]
NAME = "tiny-model train, batch 64, fp32"
CASE = f"{NAME}, eager, cpu, threads 1"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with an mbench whose table of axes has one line more."""
    folder = tmp_path_factory.mktemp("home")
    copy = folder / "mbench"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(mbench.__file__).parent, copy, ignore=ignored)
    table = copy / "contract" / "axes.py"
    before, last, after = table.read_text().partition("    clip: bool = field(\n")
    table.write_text(f"{before}    {LINE}\n{last}{after}")
    (folder / "suite.toml").write_text(SUITE)
    return folder


@pytest.fixture(scope="module")
def run(home):
    """Runs a command of that mbench, or a program that uses it; returns what it prints."""

    def run(*arguments, program=("-m", "mbench")):
        done = subprocess.run(
            [sys.executable, *program, *arguments], cwd=home, capture_output=True, text=True,
            timeout=300, check=False,
            env={**os.environ, "PYTHONPATH": str(home), "COLUMNS": "250",
                 "MBENCH_CALIBRATIONS": "calibrations", "MBENCH_RESULTS": "results"},
        )  # fmt: skip
        assert done.returncode in (0, 1, 3), done.stderr  # 1: a case fell short
        return done.stdout

    return run


@pytest.fixture(scope="module")
def measured(run, home):
    """Measures two runs, each with two values of the axis; returns the names of these runs only."""

    def names():
        return {folder.name for folder in (home / "results").glob("*/")}

    before = names()
    for _ in range(2):
        run(*COMPARE, *MEASURE, "--copies", "1,2")
    return sorted(names() - before)


def test_it_is_an_option_and_a_key_of_suites_and_it_multiplies(run):
    assert "--copies NUMBERS" in run("compare", "--help-all")
    assert "[default: 1]" in run("compare", "--help-all").partition("--copies")[2]
    for command in (
        [*COMPARE, "--copies", "1,2"],
        ["run", "suite.toml", "--frameworks", "tiny,flaky"],
    ):
        planned = run(*command, "--dry-run").splitlines()
        assert planned[0].startswith(f"{NAME}: tiny (eager), flaky (eager)")
        assert planned[1].startswith(f"{NAME}, 2 copies: tiny (eager), flaky (eager)")
        assert planned[-1].startswith("2 comparisons, 4 cases")


def test_it_is_part_of_an_experiment_in_python(run, measured):
    program = (
        f"import mbench; experiment = mbench.Experiment.from_run({measured[0]!r}); "
        "print(experiment.sweeps[0].axes['copies'])"
    )
    assert run(program=("-c", program)) == "(1, 2)\n"


def test_it_is_a_column_of_every_report_and_in_every_sentence(run, measured):
    def shown(*arguments):
        return run("show", measured[0], *arguments)

    table, markdown = shown("-v"), shown("--format", "markdown")
    assert any({"framework", "copies"} <= set(line.split()) for line in table.splitlines())
    assert f"{NAME}, cpu, 2 copies: " in table
    assert "| copies |" in markdown
    header, *rows = (line.split(",") for line in shown("--format", "csv").splitlines())
    assert [row[header.index("copies")] for row in rows] == ["1", "1", "2", "2"]
    document = json.loads(shown("--format", "json"))
    assert [case["copies"] for case in document["cases"]] == [1, 1, 2, 2]
    assert [one["copies"] for one in document["comparisons"]] == [1, 2]
    page = shown("--format", "html")
    assert "<h3>tiny-model train, cpu</h3>" in page
    assert "<h3>2 copies</h3>" in page


def test_layouts_keep_its_values_apart(run, measured):
    def laid(layout, format_="json"):
        return json.loads(run("show", measured[0], "--layout", layout, "--format", format_))

    titles = [table["title"] for table in laid("dlperf")["tables"]]
    assert titles == ["tiny-model train, cpu", "tiny-model train, cpu, 2 copies"]
    titles = [table["title"].partition(", batch")[0] for table in laid("nvidia")["tables"]]
    assert titles == [
        "tiny: tiny-model train", "flaky: tiny-model train", "tiny: tiny-model train, 2 copies",
        "flaky: tiny-model train, 2 copies",
    ]  # fmt: skip
    assert any("copies-2" in metric for metric in laid("superbench"))


def test_runs_are_compared_by_it(run, measured):
    text = run("diff", *measured, "--allow-unchecked")
    assert "tiny: 2 copies " in text


def test_a_calibration_holds_for_one_value(run, home):
    said = run("calibrate", "tiny", *COMPARE[3:], *MEASURE, "--processes", "3", "--copies", "2")
    assert f"{NAME}, eager, 2 copies: " in said
    (kept,) = (home / "calibrations").iterdir()
    assert json.loads(kept.read_text())["holds_for"]["axes"]["copies"] == 2


def test_outlets_have_it_as_a_parameter(run, measured):
    program = (
        "import mbench; from mbench.reports.exporters.mlflow import parameters; "
        f"summary = mbench.read({measured[0]!r}).summary; "
        "print(*(parameters(case)['copies'] for case in summary.cases))"
    )
    assert run(program=("-c", program)) == "1 1 2 2\n"


@pytest.mark.extras
def test_samples_and_histories_have_it(run, measured):
    program = "import mbench; print(sorted(set(mbench.load().copies)), mbench.load().copies.dtype)"
    assert run(program=("-c", program)) == "[1, 2] int64\n"
    text = run("history", "--framework", "tiny")
    assert f"\ntiny: {CASE}\n" in f"\n{text}"
    assert f"\ntiny: {CASE}, 2 copies\n" in text
