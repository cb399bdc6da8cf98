"""Runs as tables: tidy samples, exports and history, beside what single runs are read to be."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import mbench
from mbench.cli import group
from mbench.contract.axes import AXES
from mbench.engine.outcome import CaseEnded
from mbench.errors import MbenchError, UsageError
from mbench.results.database import files_of, open_runs
from mbench.results.folder import EVENTS_FILE
from mbench.results.history import trace
from mbench.results.run import load_run
from mbench.results.samples import EXPORTS
from mbench.results.summary import summarize

pytestmark = pytest.mark.extras
# Collected, though not run, where the extras are not.
duckdb = pytest.importorskip("duckdb")
pd = pytest.importorskip("pandas")

SECONDS = {"tiny": [[1.0, 1.1], [1.2]], "flaky": [[2.0, 2.1]]}
DOCS = Path(__file__).parents[3] / "docs" / "reports.md"


@pytest.fixture
def folder(write_run):
    return write_run(
        seconds=SECONDS, single={"tiny": [5.0, 6.0]}, ends={"flaky": CaseEnded("crashed", "gone")},
        system={"hostname": "here", "cpu": "EPYC"},
    )  # fmt: skip


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
    document = summarize(load_run(folder))
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


def test_an_export_that_cannot_be_written_is_one_line(folder, tmp_path):
    (tmp_path / "taken").mkdir()
    found = run("export", folder, "--output", tmp_path / "taken" / "x" / "y")
    assert isinstance(found.exception, UsageError)


@pytest.fixture
def three(write_run):
    """Three runs: steady, then twice as slow in a newer version, then flaky joins."""
    steady = [[1.0, 1.0], [1.01, 1.0], [1.0, 1.02]]
    slow = [[2 * seconds for seconds in process] for process in steady]
    runs = [
        write_run(seconds={"tiny": steady}),
        write_run(seconds={"tiny": slow}, version="1.3"),
        write_run(seconds={"tiny": slow, "flaky": steady}, version="1.3"),
    ]
    for day, run in enumerate(runs, start=1):
        text = re.sub(
            r'"started":"[^"]+"', f'"started":"2026-01-0{day}"', (run / "run.jsonl").read_text()
        )
        (run / "run.jsonl").write_text(text)
    return runs


def test_history_says_what_each_run_says(three):
    found = trace(files_of(three[0].parent))
    for point in found["points"]:
        document = summarize(load_run(three[0].parent / point["run"]))
        (case,) = (case for case in document["cases"] if case["label"] == point["label"])
        for key in ("value", "low", "high", "unit"):
            assert point["throughput"][key] == pytest.approx(case["throughput"][key])
        assert point["version"] == case["version"]


def test_history_tells_changes_from_noise(three):
    found = [p for p in trace(files_of(three[0].parent))["points"] if p["label"] == "tiny"]
    assert [point["run"] for point in found] == [run.name for run in three]
    first, second, third = (point["change"] for point in found)
    assert first is None
    assert second["verdict"] == "slower"
    assert second["ratio"] == pytest.approx(0.5)
    assert third["verdict"] == "alike"


def test_history_of_some_models_and_frameworks(three):
    files = files_of(three[0].parent)
    assert {p["label"] for p in trace(files, frameworks=["flaky"])["points"]} == {"flaky"}
    assert trace(files, models=["resnet50"])["points"] == []
    assert len(trace(files, models=["tiny-model"], frameworks=["tiny"])["points"]) == 3


@pytest.mark.parametrize("format_", ["table", "markdown", "csv", "json"])
def test_history_in_every_format(three, format_):
    found = run("history", "--results", three[0].parent, "--format", format_)
    assert found.exit_code == 0, found.output
    assert found.stdout.count(three[1].name) >= 1
    if format_ == "json":
        assert len(json.loads(found.stdout)["points"]) == 4


def test_a_case_that_fell_short_has_no_point(folder):
    assert [point["label"] for point in trace(files_of(folder))["points"]] == ["tiny"]


def test_history_of_nothing_is_one_line(three):
    found = run("history", "--results", three[0].parent, "--model", "resnet50")
    assert isinstance(found.exception, MbenchError)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is no run of mbench"),
        ("PK\x03\x04", "is no run of mbench"),
        ("id,label\n1,a\n", "is no run of mbench"),
        ('{"event": "block", "case": 0}\n', "is no run of mbench"),
        ('{"event": "run", "schema": 2, "mbench": "9.1"}\n', r"mbench 9.1 \(schema 2\)"),
    ],
)
def test_files_that_are_no_run_are_refused_in_one_line(folder, content, said):
    (folder / "run.jsonl").write_text(content)
    with pytest.raises(MbenchError, match=said) as caught:
        mbench.load(folder)
    assert "\n" not in str(caught.value)


def test_values_that_mean_harm_are_left_out(folder):
    path = folder / "run.jsonl"
    whole = len(mbench.load(folder))
    block = {"event": "block", "case": 0, "process": 0, "round": 9, "steps": 10, "each": False}
    bad = [
        {**block, "nanoseconds": [0]}, {**block, "nanoseconds": []}, {**block, "steps": 0},
        {**block, "nanoseconds": "1"}, {**block, "case": 99, "nanoseconds": [1]},
        {**block, "nanoseconds": [10**30]},
    ]  # fmt: skip
    with path.open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in bad)
    assert len(mbench.load(folder)) == whole
    assert trace(files_of(folder))["points"][0]["throughput"]["value"] > 0


def test_no_file_is_touched_but_those_that_are_named(folder, tmp_path):
    database = open_runs([folder / EVENTS_FILE], output=tmp_path / "out.csv")
    database.execute(f"COPY (SELECT 1) TO '{tmp_path}/out.csv'")
    for harm in (f"COPY (SELECT 1) TO '{tmp_path}/other.csv'", "SELECT * FROM read_text('/etc/*')",
                 "SET enable_external_access = true"):  # fmt: skip
        with pytest.raises(duckdb.Error):
            database.execute(harm)


def test_what_is_no_file_is_no_run(folder, tmp_path):
    (folder.parent / "20269999-pipe").mkdir()
    os.mkfifo(folder.parent / "20269999-pipe" / EVENTS_FILE)
    (folder.parent / "20269999-folder" / EVENTS_FILE).mkdir(parents=True)
    assert files_of(folder.parent) == [folder / EVENTS_FILE]


@pytest.mark.parametrize("name", ["duckdb", "pandas"])
def test_a_missing_extra_is_named(folder, monkeypatch, name):
    monkeypatch.setitem(__import__("sys").modules, name, None)
    with pytest.raises(MbenchError, match=r"pip install '\.\[analysis\]'"):
        mbench.load(folder)


def test_steps_timed_one_by_one_make_a_point_where_nothing_else_was_timed(write_run):
    folder = write_run(seconds={"tiny": [[1.0]]}, single={"tiny": [5.0, 15.0]})
    path = folder / "run.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if '"each":false' not in line))
    (point,) = trace(files_of(folder))["points"]
    document = summarize(load_run(folder))
    value = document["cases"][0]["throughput"]["value"]
    assert point["throughput"]["value"] == pytest.approx(value) == pytest.approx(800)


def test_runs_of_different_protocols_are_different_lines(three):
    path = three[1] / "run.jsonl"
    text = path.read_text().replace('"name":"adaptive"', '"name":"dlperf"', 1)
    path.write_text(text.replace('"claims_interval":true', '"claims_interval":false', 1))
    found = [p for p in trace(files_of(three[0].parent))["points"] if p["label"] == "tiny"]
    assert [point["protocol"] for point in found] == ["adaptive", "dlperf", "adaptive"]
    assert found[1]["change"] is None
    assert found[1]["throughput"]["low"] is None
    assert found[2]["change"]["run"] == three[0].name
