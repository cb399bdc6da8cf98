"""`mbench explain` on tiny and on flaky, a framework in which a chosen part sleeps."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support import commands

pytestmark = pytest.mark.usefixtures("surroundings")

QUICK = ["--models", "tiny-model", "--batch-size", "16", "--threads", "1", "--rounds", "1",
         "--block", "0.02", "--processes", "3", "--no-mfu"]  # fmt: skip
SLEEPS = ["--rounds", "2", "--block", "0.05"]
"""Options for steps that sleep for 20 ms on a machine that may be busy."""


def explain(*arguments, fault=""):
    return mbench("explain", *arguments, fault=fault)


def mbench(*words, fault=""):
    return commands.mbench(*words, env={**os.environ, "FLAKY": fault})


def test_what_sleeps_is_found():
    result = explain("tiny", "flaky", *QUICK, *SLEEPS, "--mode", "inference", "--format", "json",
                     fault="sleepy")  # fmt: skip
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    assert [case["proven"] for case in document["cases"]] == [True, True]
    (found,) = document["differences"]
    assert (found["baseline"], found["framework"], found["sets"]) == ("tiny", "flaky", 6)
    whole, (kind,) = found["difference_ms"], found["kinds"]
    assert whole["shown"]
    assert whole["value"] > 10, "it sleeps for 20; how much longer, and what else waits, is chance"
    assert kind["kind"] == "linear"
    assert kind["difference_ms"]["shown"]
    assert kind["difference_ms"]["value"] > 10
    assert abs(found["residual"]["difference_ms"]["value"]) < kind["difference_ms"]["value"] / 2
    assert {"command", "system", "started"} <= document.keys()
    assert {"equal work", "repeatable", "machine"} <= {one["title"] for one in document["states"]}
    parts = [found["empty"], kind, found["residual"]]
    total = sum(part["difference_ms"]["value"] for part in parts)
    step = found["operator_step"]["difference_ms"]
    assert total == pytest.approx(step["value"], rel=1e-12)
    again = explain()
    assert again.returncode == 0
    said = " ".join(again.stdout.split())
    assert said.startswith("flaky needs")
    assert "ms more per step than tiny" in said
    assert "in linear" in said.partition("tiny-model inference")[0]
    assert "the rest (in no measured operator)" in said
    assert "op:linear/16x256x64" in said
    assert "ok equal work proven" in said
    for fact in ("Machine: ", "Versions: tiny 2.4.6, flaky 2.4.6", "Measured: ", "Command: mbench"):
        assert fact in said
    rows = explain("--format", "csv").stdout.splitlines()
    assert any("op:linear/16x256x64,1," in row for row in rows)
    assert mbench("report", "--output", "page.html").returncode == 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert "Where the difference is found" in page
    assert "From a step of tiny to one of flaky, by operator" in page
    assert 'class="fall"' in page
    assert "repeatable: 6 sets of processes" in page


def test_the_phases_that_sleep_are_found():
    """One arm sleeps in the forward pass, the other as long in the update, so the step hides it."""
    arms = ["flaky:FLAKY=sleepy", "flaky:FLAKY=drowsy"]
    result = explain(*arms, *QUICK, *SLEEPS, "--no-verify", "--format", "json")
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    assert document["missing"] == []
    (found,) = document["differences"]
    by_phase = {one["phase"]: one["difference_ms"] for one in found["phases"]}
    assert list(by_phase) == ["forward", "backward", "update"]
    assert by_phase["forward"]["value"] < -10
    assert by_phase["update"]["value"] > 10
    total = sum(one["value"] for one in by_phase.values())
    step = found["phase_step"]["difference_ms"]
    assert total == pytest.approx(step["value"], rel=1e-9, abs=1e-12)


def test_the_stage_that_sleeps_is_found():
    """No operator sleeps, so all of the difference is left over by the operators."""
    result = explain("tiny", "flaky", *QUICK, "--models", "tiny-deep", "--mode", "inference",
                     "--rounds", "2", "--format", "json", fault="napping")  # fmt: skip
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    assert [case["proven"] for case in document["cases"]] == [True, True]
    assert document["missing"] == []
    (found,) = document["differences"]
    whole = found["difference_ms"]
    stages = {one["stage"]: one["difference_ms"] for one in found["stages"]}
    assert list(stages) == ["front", "back"]
    assert whole["value"] > 40
    assert stages["back"]["shown"]
    assert stages["back"]["value"] >= 0.8 * whole["value"]
    assert abs(stages["front"]["value"]) < 0.2 * whole["value"]
    assert found["residual"]["difference_ms"]["value"] >= 0.8 * whole["value"]
    said = " ".join(explain().stdout.split())
    answer = said.partition("tiny-deep inference")[0]
    assert "more in stage back, in none of its operators" in answer
    assert "by stage and operator" in said
    back = next(one for one in found["within"] if one["stage"] == "back")
    assert back["in_none"]["difference_ms"]["shown"]
    assert back["in_none"]["difference_ms"]["value"] >= 0.8 * stages["back"]["value"]
    resumed = explain("--resume", document["run"])
    assert resumed.returncode == 2
    assert "give its frameworks and options, too" in resumed.stderr


def test_a_comparison_is_explained_later():
    compared = mbench(
        "compare", "tiny", "flaky", "--models", "tiny-model", "--processes", "1", "--rounds", "1",
        "--threads", "1", "--block", "0.02", "--no-mfu",
    )  # fmt: skip
    assert compared.returncode == 0, compared.stderr
    result = explain("--processes", "3", "--rounds", "1", "--block", "0.01", "--no-verify",
                     "--format", "json")  # fmt: skip
    assert result.returncode == 0, result.stderr
    (found,) = json.loads(result.stdout)["differences"]
    assert [one["operator"] for one in found["operators"]] == [
        "op:linear/64x256x64", "op:cross_entropy/64x64"
    ]  # fmt: skip
    assert found["sets"] == 6


def test_a_comparison_is_explained_in_one_command(tmp_path):
    report = tmp_path / "report.md"
    words = ["compare", "tiny", "tiny", *QUICK, "--mode", "inference", "--no-verify", "--explain"]
    result = mbench(*words, "--output", str(report))
    assert result.returncode == 0, result.stderr
    said = report.read_text(encoding="utf-8")
    compared, explained = said.index("| framework"), said.index("sets of processes")
    assert compared < explained
    assert result.stderr.count("raw values in") == 2


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--format", "json"], "--explain supports the formats table and markdown"),
        (["--mode", "train,inference"], "explain measures one comparison at a time"),
        (["--until", "2%"], "explain measures a fixed number of sets"),
    ],
)
def test_what_a_comparison_cannot_explain_is_said_before_it_is_measured(more, said):
    result = mbench("compare", "tiny", "tiny", *QUICK, "--explain", *more)
    assert result.returncode == 2
    assert said in result.stderr
    assert "raw values" not in result.stderr


@pytest.mark.parametrize("reached", ["plan: the step", "process 2;"])
def test_an_interrupted_run_is_resumed(reached, tmp_path):
    """This also holds if nothing had been measured yet."""
    command = ["tiny", "flaky", *QUICK, "--mode", "inference", "--no-verify", "--results",
               str(tmp_path)]  # fmt: skip
    started = subprocess.Popen(
        [sys.executable, "-m", "mbench", "explain", *command, "--color", "never"],
        env={**os.environ, "FLAKY": ""}, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
        text=True,
    )  # fmt: skip
    for line in started.stderr:
        if reached in line:
            started.send_signal(signal.SIGINT)
            break
    said = started.communicate()[1]
    assert started.returncode == 130
    run = said.rpartition("--resume ")[2].split()[0]
    result = explain(*command, "--resume", run, "--format", "json")
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    assert (document["run"], document["status"]) == (run, "complete")
    # The interrupted set may hold a whole measurement of the step, which then counts.
    assert document["differences"][0]["sets"] in (6, 7)
    assert document["left_out"] == []


def test_a_part_that_dies_is_left_out_and_reported():
    result = explain("tiny", "flaky", *QUICK, "--mode", "inference", "--no-verify", "--format",
                     "json", fault="raise@60")  # fmt: skip
    assert result.returncode == 1
    document = json.loads(result.stdout)
    ended = [case["outcome"] for case in document["cases"]]
    assert "failed" in ended or document["missing"]


def test_a_budget_is_kept_and_what_does_not_fit_is_measured_later():
    """A budget covers the step and as many operators as fit, each with three sets or more."""
    for budget in ("20", "30", "45"):  # the smallest in which this machine makes three sets
        command = ["tiny", "flaky", *QUICK, "--no-verify", "--budget", budget]
        result = explain(*command, "--format", "json")
        if "is too short for 3 sets" not in result.stderr:
            break
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    assert "plan: the step and" in result.stderr
    assert "a set of processes takes about" in result.stderr
    assert document["left_out"]
    (state,) = [one for one in document["states"] if one["title"] == "left out"]
    assert f"--resume {document['run']} measures them" in state["text"]
    again = explain(*command, "--resume", document["run"], "--format", "json")
    assert again.returncode == 0, again.stderr
    more = json.loads(again.stdout)
    before = {one["operator"] for one in document["differences"][0]["operators"]}
    after = {one["operator"] for one in more["differences"][0]["operators"]}
    assert before < after
    assert len(more["left_out"]) < len(document["left_out"])


def test_a_budget_that_does_not_hold_three_sets_is_refused():
    result = explain("tiny", "flaky", *QUICK, "--block", "0.5", "--budget", "5")
    assert result.returncode == 2
    assert "is too short for 3 sets of the step" in result.stderr
    assert "give --budget" in result.stderr
    assert not Path("mbench-results").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["tiny", "flaky", "--models", "tiny-model", "--mode", "train,inference"],
         "explain measures one comparison at a time"),
        (["tiny", "flaky", "--models", "op:add/3x4"], "the operators of op:add/3x4 are not known"),
        (["tiny", "flaky", "--models", "tiny-model", "--protocol", "dlperf"],
         "explain has its own protocol"),
        (["tiny", "flaky", "--models", "tiny-model", "--batch-size", "max"],
         "explain does not search for a batch size"),
        (["tiny", "flaky", "--models", "tiny-model", "--until", "2%"],
         "explain measures a fixed number of sets"),
        (["tiny"], "explain takes two or more frameworks"),
        (["20990101"], "no runs in mbench-results"),
    ],
)  # fmt: skip
def test_what_cannot_be_explained_is_refused_with_the_reason(arguments, said):
    result = explain(*arguments)
    assert result.returncode in (1, 2)
    assert said in result.stderr
    assert "Traceback" not in result.stderr
