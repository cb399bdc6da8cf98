"""Tidy samples and exports agree with what is read of runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import mbench
from mbench.cli.main import group
from mbench.contract.axes import AXES
from mbench.errors import UsageError
from mbench.results.run import load_run
from mbench.results.samples import EXPORTS
from mbench.results.summary import analyse

pytestmark = pytest.mark.extras
# Collected, but not run, where the extras are not installed.
duckdb = pytest.importorskip("duckdb")
pd = pytest.importorskip("pandas")

DOCS = Path(__file__).parents[3] / "docs" / "reports.md"


def run(*arguments):
    return CliRunner().invoke(group, [*map(str, arguments)])


def documented():
    page = DOCS.read_text().partition("## Samples")[2]
    page = page.replace("| `<axis>` |", "\n".join(f"| `{axis.name}` |" for axis in AXES))
    return re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)


def test_every_interval_is_one_row(folder):
    found = mbench.load(folder)
    tiny = found[found["label"] == "tiny"]
    blocks = tiny[tiny["kind"] == "block"]
    assert list(blocks["seconds"]) == [1.0, 1.1, 1.2]
    assert list(blocks["process"]) == [0, 0, 1]
    assert list(blocks["round"]) == [0, 1, 0]
    assert set(blocks["steps"]) == {10}
    assert list(blocks["samples_per_second"]) == pytest.approx([80, 80 / 1.1, 80 / 1.2])
    steps = tiny[tiny["kind"] == "step"]
    assert list(steps["seconds"]) == [0.005, 0.006]
    assert list(steps["step"]) == [0, 1]
    assert set(steps["steps"]) == {1}
    assert (tiny["run"] == folder.name).all()
    assert (tiny["host"] == "here").all()
    assert set(found[found["label"] == "flaky"]["outcome"]) == {"crashed"}
    assert str(found["started"].dtype).endswith("UTC]")


def test_the_columns_are_the_documented_ones(folder):
    assert list(mbench.load(folder)) == documented()


def test_the_rows_are_what_the_summary_is_computed_from(folder):
    found = mbench.load(folder)
    blocks = found[(found["label"] == "tiny") & (found["kind"] == "block")]
    sums = blocks.groupby("process")[["steps", "seconds"]].sum()
    rates = sums["steps"] * 8 / sums["seconds"]
    document = analyse(load_run(folder)).to_json()
    assert list(rates) == pytest.approx(document["cases"][0]["throughput"]["processes"])


def test_many_runs_and_ways_to_name_them(folder, write_run, monkeypatch):
    other = write_run(seconds={"tiny": [[3.0]]})
    both = mbench.load(folder, other)
    assert set(both["run"]) == {folder.name, other.name}
    monkeypatch.setenv("MBENCH_RESULTS", str(folder.parent))
    pd.testing.assert_frame_equal(mbench.load(), mbench.load(folder.parent))
    pd.testing.assert_frame_equal(mbench.load(folder.name), mbench.load(folder / "run.jsonl"))


def test_a_torn_file_gives_what_is_whole(folder):
    path = folder / "run.jsonl"
    whole = mbench.load(folder)
    lines = path.read_text().splitlines(keepends=True)
    block = max(at for at, line in enumerate(lines) if '"block"' in line)
    path.write_text("".join(lines[:block]) + lines[block][:40])
    assert len(mbench.load(folder)) == len(whole) - 1


@pytest.mark.parametrize("format_", EXPORTS)
def test_exports_hold_the_same_rows(folder, tmp_path, format_):
    output = tmp_path / "it's.out"
    found = run("export", folder, "--format", format_, "--output", output)
    assert found.exit_code == 0, found.output
    assert found.stdout == ""
    assert "7 samples of 1 run in" in found.stderr
    reader = {"parquet": "read_parquet", "csv": "read_csv", "jsonl": "read_ndjson"}[format_]
    read = duckdb.execute(f"SELECT * FROM {reader}($file)", {"file": str(output)}).fetchnumpy()
    assert list(read) == documented()
    loaded = mbench.load(folder)
    for name in ("label", "kind", "process", "seconds", "samples_per_second"):
        assert list(read[name]) == list(loaded[name])


@pytest.mark.parametrize("format_", ["csv", "jsonl"])
def test_text_is_exported_to_stdout_too(folder, tmp_path, format_):
    found = run("export", folder, "--format", format_)
    assert found.exit_code == 0, found.output
    run("export", folder, "--format", format_, "--output", tmp_path / "samples")
    assert found.stdout == (tmp_path / "samples").read_text()
    assert found.stderr == ""


def test_parquet_is_for_files(folder):
    found = run("export", folder)
    assert isinstance(found.exception, UsageError)
    assert "give --output FILE, or --format csv" in str(found.exception)


def test_an_export_that_cannot_be_written_is_one_line(folder, tmp_path):
    (tmp_path / "taken").mkdir()
    found = run("export", folder, "--output", tmp_path / "taken" / "x" / "y")
    assert isinstance(found.exception, UsageError)
