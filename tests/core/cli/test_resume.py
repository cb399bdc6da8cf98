"""Resuming an interrupted run, through the command line."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING

import pytest
from support import commands

if TYPE_CHECKING:
    from pathlib import Path

CASE = ["compare", "--frameworks", "tiny,flaky", "--models", "tiny-model", "--threads", "1"]
CASE += ["--no-mfu", "--no-verify", "--batch-size", "4,8", "--format", "json"]
WAYS = {
    "adaptive": ["--processes", "2", "--rounds", "1", "--block", "0.02"],
    "dlperf": ["--protocol", "dlperf", "--processes", "2", "--steps", "3"],
}


def mbench(folder, *arguments):
    return commands.mbench(*arguments, cwd=folder)


def run_file(folder: Path) -> Path:
    (path,) = (folder / "results").rglob("run.jsonl")
    return path


def events(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def last_comparison_end(path: Path) -> int:
    """The index of the last `comparison_end` event; events about the machine may follow it."""
    kinds = [event["event"] for event in events(path)]
    return len(kinds) - 1 - kinds[::-1].index("comparison_end")


def cut(path: Path, *, before: int) -> None:
    """Cut the run as if it had been killed: leave `before` events and a part of the next one."""
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:before]) + lines[before][:20])


@pytest.mark.parametrize(
    ("way", "cuts"),
    [("adaptive", ["first process", "third block", "last block", "end"]),
     ("dlperf", ["third block", "last block"])],
)  # fmt: skip
def test_what_is_missing_is_measured_wherever_it_was_cut(tmp_path, way, cuts):
    options = [*WAYS[way], "--results", "results"]
    whole = mbench(tmp_path, *CASE, *options)
    assert whole.returncode == 0, whole.stderr
    path = run_file(tmp_path)
    text, all_events = path.read_text(), events(path)
    kinds = [event["event"] for event in all_events]
    blocks = [at for at, kind in enumerate(kinds) if kind == "block"]
    places = {"first process": kinds.index("process"), "third block": blocks[2],
              "last block": blocks[-1], "end": len(kinds) - 1}  # fmt: skip
    for before in (places[cut_at] for cut_at in cuts):
        path.write_text(text)
        cut(path, before=before)
        name = path.parent.name
        again = mbench(tmp_path, *CASE, *options, "--resume", name[:15])
        assert again.returncode == 0, again.stderr
        document = json.loads(again.stdout)
        assert (document["run"], document["status"]) == (name, "complete")
        assert document["cut_off"] is False
        for case in document["cases"]:
            assert case["processes"] == 2
            assert len(case["throughput"]["processes"]) == 2
        old, new = all_events[:before], events(path)
        assert new[:before] == old, "nothing that was measured is lost"
        assert new[before]["event"] == "resumed"
        done = {e["comparison"] for e in old if e["event"] == "comparison_end"}
        of = {e["case"]: e["comparison"] for e in new if e["event"] == "case"}
        measured = {of[e["case"]] for e in new[before:] if e["event"] == "block"}
        assert not measured & done, "nothing is measured twice"


def test_a_run_that_lacks_nothing_stays_as_it_is(tmp_path):
    options = WAYS["adaptive"]
    first = mbench(tmp_path, *CASE, *options)
    name = run_file(tmp_path).parent.name
    foreseen = mbench(tmp_path, *CASE, *options, "--resume", name, "--dry-run")
    assert (foreseen.returncode, foreseen.stdout) == (0, "nothing is left to measure\n")
    other = mbench(tmp_path, *CASE, *options, "--rounds", "7", "--resume", name, "--dry-run")
    assert other.returncode == 2
    assert "cannot be resumed: rounds was 1, is 7" in other.stderr
    again = mbench(tmp_path, *CASE, *options, "--resume", run_file(tmp_path).parent.name)
    assert again.returncode == 0
    old, new = json.loads(first.stdout), json.loads(again.stdout)
    assert old["cases"] == new["cases"]
    assert old["comparisons"] == new["comparisons"]


def test_what_fell_short_is_a_result_and_stays(tmp_path):
    options = [*CASE, *WAYS["adaptive"], "--compiler", "imaginary"]
    first = mbench(tmp_path, *options)
    assert first.returncode == 1
    path = run_file(tmp_path)
    cut(path, before=last_comparison_end(path))
    again = mbench(tmp_path, *options, "--resume", path.parent.name)
    assert again.returncode == 1, again.stderr
    assert {case["outcome"] for case in json.loads(again.stdout)["cases"]} == {"unsupported"}


@pytest.fixture(scope="module")
def complete(tmp_path_factory):
    """The results folder of a complete run."""
    folder = tmp_path_factory.mktemp("complete")
    result = mbench(folder, *CASE, *WAYS["adaptive"], "--results", "results")
    assert result.returncode == 0, result.stderr
    return folder / "results"


@pytest.fixture
def interrupted(complete, tmp_path):
    """The file of a run without the end of its last comparison."""
    shutil.copytree(complete, tmp_path / "results")
    path = run_file(tmp_path)
    cut(path, before=last_comparison_end(path))
    return path


def changed(path: Path, change) -> None:
    """Apply `change` to every whole event of an interrupted run."""
    lines = path.read_text().splitlines()
    made = [json.loads(line) for line in lines[:-1]]
    for event in made:
        change(event)
    path.write_text("".join(json.dumps(event) + "\n" for event in made))


def other_machine(event):
    if event["event"] == "run":
        event["system"]["cpu"] = "Abacus"


def other_version(event):
    if event["event"] == "environment":
        event["packages"]["numpy"] = "1.0"


def test_another_machine_or_version_is_refused_with_the_difference(interrupted, tmp_path):
    original = interrupted.read_text()
    for change, words in ((other_machine, "cpu was Abacus, is "),
                          (other_version, "tiny: numpy was 1.0, is ")):  # fmt: skip
        interrupted.write_text(original)
        changed(interrupted, change)
        before = interrupted.read_text()
        result = mbench(tmp_path, *CASE, *WAYS["adaptive"], "--resume", interrupted.parent.name)
        assert result.returncode == 2
        assert f"{interrupted.parent.name} cannot be resumed: {words}" in result.stderr
        assert "Traceback" not in result.stderr
        assert interrupted.read_text() == before, "a refused run is left as it is"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--block", "0.03"], "block_seconds was 0.02, is 0.03"),
        (["--seed", "9"], "seed was 0, is 9"),
        (["--batch-size", "4"], "batch_size was 4, 8, is 4"),
        (["--batch-size", "4,9"], "batch_size was 4, 8, is 4, 9"),
        (["--threads", "2"], "threads was 1, is 2"),
        (["--frameworks", "flaky,tiny"], "frameworks was tiny, flaky, is flaky, tiny"),
        (["--resume", "2001"], "no run in"),
    ],
)
def test_another_command_is_refused_with_the_difference(interrupted, tmp_path, options, words):
    arguments = [*CASE, *WAYS["adaptive"], "--resume", interrupted.parent.name, *options]
    result = mbench(tmp_path, *arguments)
    assert result.returncode == 2
    assert words in result.stderr


FEW = ["compare", "tiny", "flaky", "--models", "tiny-model", "--threads", "1", "--no-mfu"]
FEW += ["--no-verify", "--block", "0.02", "--rounds", "2"]


def others_used(telemetry, cores):
    """Change a telemetry event to that of a second in which other processes used `cores`."""
    first = telemetry["samples"][0]
    last = {**first, "at_nanoseconds": first["at_nanoseconds"] + 10**9}
    last["busy_seconds"] += cores
    telemetry["samples"] = [first, last]


@pytest.fixture(scope="module")
def two_of_three(tmp_path_factory):
    """The folder of a run that measured two of its three sets, as if its budget was too small and
    nothing disturbed it: other tests may.
    """
    folder = tmp_path_factory.mktemp("few")
    made = mbench(folder, *FEW, "--processes", "2", "--results", "results")
    assert made.returncode == 0, made.stderr
    (path,) = folder.rglob("run.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        if line["event"] == "run":
            line["experiment"]["protocol"]["processes"] = 3
        if line["event"] == "telemetry":
            others_used(line, cores=0)
        if line["event"] == "comparison_end":
            line["reason"] = "another set of processes, about 4 s, did not fit into the 9 s"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path.parent


@pytest.fixture
def lacking(two_of_three, tmp_path):
    """A copy of the run of two_of_three, in the folder where runs are looked for."""
    there = tmp_path / "results" / two_of_three.name
    shutil.copytree(two_of_three, there)
    return there


def shown(folder, *arguments):
    result = mbench(folder, *arguments, "--format", "json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_no_answer_is_finished_by_the_pairs_that_are_lacking(lacking, tmp_path):
    before = events(lacking / "run.jsonl")
    (pair,) = shown(tmp_path, "show")["comparisons"]
    step = pair["next_step"]
    assert pair["verdict"] == "undetermined"
    assert step["options"] == f"--resume {lacking.name}"
    assert step["process_pairs"] == 1
    planned = mbench(tmp_path, "compare", *step["options"].split(), "--dry-run")
    assert planned.stdout.splitlines()[-1].startswith("1 comparison, 2 cases: about ")
    document = shown(tmp_path, "compare", *step["options"].split())
    (pair,) = document["comparisons"]
    assert (document["run"], pair["process_pairs"]) == (lacking.name, 3)
    assert pair["low"] <= pair["ratio"] <= pair["high"]
    assert pair["reason"].startswith("all processes measured")
    assert document["started"] <= document["resumed"] <= document["finished"]
    after = events(lacking / "run.jsonl")
    assert after[: len(before)] == before, "nothing that was measured is lost"
    again = mbench(tmp_path, "compare", *step["options"].split(), "--dry-run")
    assert again.stdout == "nothing is left to measure\n"


def test_pairs_of_a_busy_machine_do_not_prevent_an_answer(lacking, tmp_path):
    """A user who ends the other programs and types the reported command gets undisturbed pairs."""
    path = lacking / "run.jsonl"
    lines = events(path)
    for line in lines:
        if line["event"] == "telemetry":
            others_used(line, cores=2 * line["cores"])
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    said = " ".join(mbench(tmp_path, "show").stdout.split())
    assert "every round was disturbed: other processes used" in said
    assert "warn repeatable 0 undisturbed pairs of the 3 that an answer needs" in said
    advice = "To get an answer, stop what disturbs the machine, then about "
    again = f"mbench compare --resume {lacking.name} --processes 5 Details:"
    assert re.search(f"{advice}.{{1,9}} more: {again}", said)
    more = ["compare", "--resume", lacking.name, "--processes", "5"]
    (pair,) = shown(tmp_path, *more)["comparisons"]
    assert pair["low"] <= pair["ratio"] <= pair["high"]
    # The pairs that are measured here may really be disturbed.
    assert pair["spoilt_pairs"] >= 2
    assert pair["process_pairs"] + pair["left_out_pairs"] == 5
    assert pair["left_out_pairs"] == (2 if pair["spoilt_pairs"] == 2 else 0)


def pairs_of(document):
    """How many pairs were measured, including those that a busy machine disturbed."""
    (pair,) = document["comparisons"]
    return pair["process_pairs"] + pair["left_out_pairs"]


def test_processes_widths_and_budgets_ask_for_more(lacking, tmp_path):
    more = ["compare", "--resume", lacking.name]
    document = shown(tmp_path, *more, "--processes", "4", "--budget", "60")
    assert pairs_of(document) == 4
    assert document["protocol"]["processes"] == 4
    document = shown(tmp_path, *more, "--until", "0.01%", "--max-processes", "5")
    (pair,) = document["comparisons"]
    assert pairs_of(document) == 5
    assert document["protocol"]["half_width_goal"] == 0.0001
    assert pair["reason"].startswith("all processes measured, intervals within")


def test_the_whole_command_finishes_it_too(lacking, tmp_path):
    document = shown(tmp_path, *FEW, "--processes", "3", "--resume", lacking.name)
    assert document["comparisons"][0]["process_pairs"] == 3


def test_what_a_run_did_not_ask_for_is_refused_where_it_is_continued(lacking, tmp_path):
    refused = mbench(tmp_path, "compare", "--resume", lacking.name, "--models", "tiny-model")
    assert refused.returncode == 2
    assert "continues what " in refused.stderr
    assert "leave out --models" in refused.stderr
