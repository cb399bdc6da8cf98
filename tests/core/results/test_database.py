"""Files of runs as tables: what is read, what is refused, and that no other file is touched."""

from __future__ import annotations

import json
import os
import shutil

import pytest

import mbench
from mbench.errors import MbenchError, UsageError
from mbench.results.database import files_of, open_runs
from mbench.results.folder import EVENTS_FILE
from mbench.results.history import trace
from mbench.results.readable import damage_of
from mbench.results.run import load_run

pytestmark = pytest.mark.extras
# Collected, but not run, where the extras are not installed.
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
    with open_runs([folder / EVENTS_FILE], output=tmp_path / "out.csv") as database:
        database.execute(f"COPY (SELECT 1) TO '{tmp_path}/out.csv'")
        for harm in (f"COPY (SELECT 1) TO '{tmp_path}/other.csv'",
                     "SELECT * FROM read_text('/etc/*')",
                     "SET enable_external_access = true"):  # fmt: skip
            with pytest.raises(duckdb.Error):
                database.execute(harm)


def garbage(lines):
    return [*lines[:-3], b"garbage\n", *lines[-3:]]


def twice(lines):
    at = max(at for at, line in enumerate(lines) if b'"event":"block"' in line)
    return [*lines[: at + 1], lines[at], *lines[at + 1 :]]


def second_run(lines):
    return [*lines[:-3], lines[0], *lines[-3:]]


def without_a_case(lines):
    return [line for line in lines if b'"event":"case","case":1' not in line]


@pytest.mark.parametrize("change", [garbage, twice, second_run, without_a_case])
def test_what_follows_a_damaged_line_is_left_out_as_everywhere(folder, change, capsys):
    """One of two runs is damaged; the rows keep their order."""
    path = folder / EVENTS_FILE
    copy = folder.with_name("0-copy")
    shutil.copytree(folder, copy)
    lines = change(path.read_bytes().splitlines(keepends=True))
    path.write_bytes(b"".join(lines))
    run = load_run(path)
    assert run.damage is not None
    expected = sum(len(block.nanoseconds) for case in run.cases.values()
                   for process in case.processes.values() for block in process.blocks)  # fmt: skip
    found = mbench.load(folder)
    assert len(found) == expected
    said = f"{path}, line {run.damage.line} is damaged: it and what follows are left out"
    assert said in capsys.readouterr().err
    assert len(trace(files_of(folder.parent)).points) >= 1
    both = mbench.load(copy, folder)
    assert len(both) == len(mbench.load(copy)) + expected
    assert "/" not in "".join(both["label"].astype(str))


def test_what_is_readable_is_what_the_reader_reads(folder):
    """Each line in turn is removed, doubled or cut in half."""
    path = folder / EVENTS_FILE
    lines = path.read_bytes().splitlines(keepends=True)
    for at in range(1, len(lines)):
        for changed in (
            [*lines[:at], *lines[at + 1 :]], [*lines[:at], lines[at], *lines[at:]],
            [*lines[:at], lines[at][: len(lines[at]) // 2] + b"\n", *lines[at + 1 :]],
        ):  # fmt: skip
            path.write_bytes(b"".join(changed))
            damage = load_run(path).damage
            with path.open("rb") as file:
                found = damage_of(file)
            if damage is not None and found is not None:
                assert found == (damage.line, damage.offset)
            if found is not None:
                assert damage is not None
            if damage is not None and "not JSON" in damage.why and not damage.last:
                assert found is not None


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
    """Without it, DuckDB refuses even to switch its progress bar off."""

    class InNotebook:
        def __init__(self):
            self.database = connect()
            self.close = self.database.close

        def execute(self, query, parameters=None):
            if "enable_progress_bar" in query:
                raise duckdb.InvalidInputException("required package 'ipywidgets' is missing")
            return self.database.execute(query, parameters)

    connect = duckdb.connect
    monkeypatch.setattr(duckdb, "connect", InNotebook)
    assert len(mbench.load(folder))
