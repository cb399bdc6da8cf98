"""Throughput over runs agrees with the summaries of single runs."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner

from mbench.cli.main import group
from mbench.errors import MbenchError
from mbench.results import events
from mbench.results.database import files_of
from mbench.results.encoding import encode
from mbench.results.history import trace
from mbench.results.run import load_run
from mbench.results.summary import analyse

pytestmark = pytest.mark.extras
# Collected, but not run, where the extras are not installed.
duckdb = pytest.importorskip("duckdb")
pd = pytest.importorskip("pandas")


def run(*arguments):
    return CliRunner().invoke(group, [*map(str, arguments)])


def test_history_says_what_each_run_says(three):
    found = trace(files_of(three[0].parent))
    assert found.points
    for point in found.points:
        summary = analyse(load_run(three[0].parent / point.run))
        (case,) = (case for case in summary.cases if case.label == point.label)
        for key in ("value", "low", "high", "unit"):
            assert getattr(point.figure, key) == pytest.approx(getattr(case.throughput, key))
        assert point.version == case.version


def test_history_tells_changes_from_noise(three):
    points = trace(files_of(three[0].parent)).to_json()["points"]
    found = [point for point in points if point["label"] == "tiny"]
    assert [point["run"] for point in found] == [run.name for run in three]
    first, second, third = (point["change"] for point in found)
    assert first is None
    assert second["verdict"] == "slower"
    assert second["ratio"] == pytest.approx(0.5)
    assert third["verdict"] == "alike"


def test_a_renamed_folder_changes_no_order(three):
    """Else a change would have the opposite sign."""
    before = trace(files_of(three[0].parent))
    three[0].rename(three[0].parent / "before-update")
    assert trace(files_of(three[0].parent)) == before


def test_other_files_under_one_version_are_said(write_run):
    runs = [
        write_run(seconds={"tiny": [[1.0], [1.1], [1.0]]}, single={"tiny": [5.0]}) for _ in range(3)
    ]
    for day, (folder, installed) in enumerate(zip(runs, ("a", "a", "b"), strict=True), start=1):
        path = folder / "run.jsonl"
        text = re.sub(r'"started":"[^"]+"', f'"started":"2026-01-0{day}"', path.read_text())
        event = events.Environment(
            case=0, python="/p", python_version="3.11.7", managed=False, digest=None,
            packages={"a": "1"}, installed=installed,
        )  # fmt: skip
        *lines, end = text.splitlines(keepends=True)
        path.write_text("".join([*lines, encode(event) + "\n", end]))
    for metric in ("", "latency_mean"):
        points = trace(files_of(runs[0].parent), metric=metric).points
        assert [p.change.other_files for p in points if p.change] == [False, True], metric
        assert [p.shown_version for p in points] == ["1.2", "1.2", "1.2 (other files)"]


def test_history_of_some_models_and_frameworks(three):
    files = files_of(three[0].parent)
    assert {p["label"] for p in trace(files, frameworks=["flaky"]).to_json()["points"]} == {"flaky"}
    assert trace(files, models=["resnet50"]).to_json()["points"] == []
    assert len(trace(files, models=["tiny-model"], frameworks=["tiny"]).to_json()["points"]) == 3


def test_case_and_separators_do_not_matter_in_names_of_models(three):
    found = run("history", "--results", three[0].parent, "--model", "Tiny_Model", "--format", "csv")
    assert len(found.stdout.splitlines()) > 1, found.output


@pytest.mark.parametrize("format_", ["table", "markdown", "csv", "json"])
def test_history_in_every_format(three, format_):
    found = run("history", "--results", three[0].parent, "--format", format_)
    assert found.exit_code == 0, found.output
    assert found.stdout.count(three[1].name) >= 1
    if format_ == "json":
        assert len(json.loads(found.stdout)["points"]) == 4


def test_the_help_says_which_metric_is_shown_where_none_is_asked_for():
    """Runs may have different ones of their own."""
    said = " ".join(run("history", "--help").output.split())
    assert "joules_per_sample. [default: throughput]" in said
    assert "the run's own" not in said


def test_a_case_that_fell_short_has_no_point(folder):
    assert [point["label"] for point in trace(files_of(folder)).to_json()["points"]] == ["tiny"]


def test_history_of_nothing_is_one_line(three):
    found = run("history", "--results", three[0].parent, "--model", "resnet50")
    assert isinstance(found.exception, MbenchError)


def test_steps_timed_one_by_one_make_a_point_where_nothing_else_was_timed(write_run):
    folder = write_run(seconds={"tiny": [[1.0]]}, single={"tiny": [5.0, 15.0]})
    path = folder / "run.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if '"each":false' not in line))
    (point,) = trace(files_of(folder)).to_json()["points"]
    document = analyse(load_run(folder)).to_json()
    value = document["cases"][0]["throughput"]["value"]
    assert point["figure"]["value"] == pytest.approx(value) == pytest.approx(800)


def test_runs_of_different_protocols_are_different_lines(three):
    path = three[1] / "run.jsonl"
    text = path.read_text().replace('"name":"adaptive"', '"name":"dlperf"', 1)
    path.write_text(text.replace('"claims_interval":true', '"claims_interval":false', 1))
    points = trace(files_of(three[0].parent)).to_json()["points"]
    found = [point for point in points if point["label"] == "tiny"]
    assert [point["protocol"] for point in found] == ["adaptive", "dlperf", "adaptive"]
    assert found[1]["change"] is None
    assert found[1]["figure"]["low"] is None
    assert found[2]["change"]["run"] == three[0].name
