"""Files of runs as tables: what is taken, what is refused, and nothing else is touched."""

from __future__ import annotations

import json
import os

import pytest

import mbench
from mbench.errors import MbenchError, UsageError
from mbench.results.database import files_of, open_runs
from mbench.results.folder import EVENTS_FILE
from mbench.results.history import trace

pytestmark = pytest.mark.extras
# Collected, though not run, where the extras are not.
duckdb = pytest.importorskip("duckdb")
pd = pytest.importorskip("pandas")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is not a run of mbench"),
        ("PK\x03\x04", "is not a run of mbench"),
        ("id,label\n1,a\n", "is not a run of mbench"),
        ('{"event": "block", "case": 0}\n', "is not a run of mbench"),
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
    assert trace(files_of(folder)).to_json()["points"][0]["figure"]["value"] > 0


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
    with pytest.raises(MbenchError, match=r"mbench's extra analysis: .*pip install .*'duckdb"):
        mbench.load(folder)


def test_what_is_no_run_is_left_out_of_many_and_told(folder, tmp_path):
    results = folder.parent
    whole = (folder / "run.jsonl").read_text()
    newer = whole.replace('"schema":1', '"schema":99', 1)
    for name, content in (("a", "PK\x03\x04"), ("b", ""), ("c", newer), ("d", "x" * 2**24)):
        (results / name).mkdir()
        (results / name / "run.jsonl").write_text(content)
    (results / "pipe").mkdir()
    os.mkfifo(results / "pipe" / "run.jsonl")
    told = []
    assert files_of(results, tell=told.append) == [folder / "run.jsonl"]
    assert len(told) == 4
    assert all(" is left out: " in text for text in told)
    (folder / "run.jsonl").unlink()
    with pytest.raises(UsageError, match=r"no run in .* can be read"):
        files_of(results, tell=told.append)


def test_a_notebook_without_ipywidgets_is_no_obstacle(folder, monkeypatch):
    """There DuckDB refuses even to switch its progress bar off."""

    class InNotebook:
        def __init__(self):
            self.database = connect()

        def execute(self, query, parameters=None):
            if "enable_progress_bar" in query:
                raise duckdb.InvalidInputException("required package 'ipywidgets' is missing")
            return self.database.execute(query, parameters)

    connect = duckdb.connect
    monkeypatch.setattr(duckdb, "connect", InNotebook)
    assert len(mbench.load(folder))
