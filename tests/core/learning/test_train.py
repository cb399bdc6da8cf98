"""mbench train as users meet it, with a fast framework."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support import commands

import mbench
from mbench.learning.record import record_of
from mbench.results.run import load_run

TASK = """
title = "A task of a test"
[data]
kind = "glyphs"
seed = 3
train = 400
test = 128
[model]
name = "tiny-model"
inputs = "features"
[optimizer]
rule = "sgd"
learning_rate = 0.1
momentum = 0.9
weight_decay = 1e-3
[schedule]
shape = "cosine"
warmup = 0.2
[loss]
label_smoothing = 0.1
[training]
batch_size = 32
steps = 40
[evaluation]
every = 5
average = 2
[target]
metric = "accuracy"
value = 0.5
[margin]
final = 0.05
seeds = 3
"""

TAG = re.compile(r"</?span[^>]*>")


@pytest.fixture
def task(tmp_path):
    file = tmp_path / "own.toml"
    file.write_text(TASK)
    return file


def train(*words, results):
    threads = [] if "--resume" in words else ["--threads", "1"]
    return commands.mbench(
        "train", *map(str, words), "--results", str(results), *threads, env={**os.environ}
    )


def shown(result):
    return json.loads(result.stdout)


def said_by(result):
    assert "Traceback" not in result.stderr
    return result.stdout + result.stderr


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The folder and the JSON document of a run in which a framework is compared with itself."""
    folder = tmp_path_factory.mktemp("trained")
    (folder / "own.toml").write_text(TASK)
    result = train(
        "tiny", "tiny", "--task", folder / "own.toml", "--format", "json", "--quiet",
        results=folder,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return folder, shown(result)


def test_a_framework_learns_like_itself(trained):
    _, found = trained
    (pair,) = found["pairs"]
    assert pair["verdict"] == "learn alike"
    assert (pair["seeds"], pair["missed"]) == (3, 0)
    assert found["answer"][0].startswith("tiny#1 and tiny#2 learn alike within 5 %")
    for arm in found["arms"]:
        assert arm["exact"] < 1e-12
        assert 1e-17 < arm["rounding"] < 1e-11
        assert arm["path"]["outside"] is None
        assert arm["path"]["steps"] > 10
        assert 0 < arm["steps_to_target"]["median"] < 40
        assert arm["time_to_train"]["mean"] > arm["step_seconds"]["mean"] > 0
        assert arm["time_to_target"]["median"] < arm["time_to_train"]["most"]


def show(*words, results, command="show"):
    return commands.mbench(command, *map(str, words), "--results", str(results),
                           env={**os.environ})  # fmt: skip


def test_a_run_is_shown_again_in_each_format(trained, tmp_path):
    folder, found = trained
    for format_ in ("table", "markdown", "csv", "html"):
        out = tmp_path / "out"
        result = show(found["run"], "--format", format_, "-o", out, results=folder)
        assert result.returncode == 0, result.stderr
        text = out.read_text()
        assert "time to train" in text
        assert sys.executable not in text.partition("Machine and environments")[0]
    assert text.count("<polyline") >= 2 * 3 + 2
    assert "envelope" in text
    assert "mbench train " in TAG.sub("", text), "the command that made it"
    assert "physical cores" in text
    for known in ("command", "system", "mbench", "started", "environments"):
        assert found[known], known


def test_layout_nvidia_has_accuracy_stability_and_time_to_train(trained, tmp_path):
    folder, found = trained
    result = show(found["run"], "--layout", "nvidia", "--format", "json", results=folder)
    assert result.returncode == 0, result.stderr
    accuracy, stability = json.loads(result.stdout)["tables"]
    for row, arm in zip(accuracy["rows"], found["arms"], strict=True):
        assert row["Framework"] == arm["label"]
        assert row["Accuracy (%) - fp32"] == round(100 * arm["accuracy"]["mean"], 4)
        assert row["Time to train (s) - fp32"] == round(arm["time_to_train"]["mean"], 4)
    assert accuracy["rows"][0]["Time to train speedup (tiny#1 to framework)"] == 1.0
    for row, arm in zip(stability["rows"], found["arms"], strict=True):
        spread = [arm["accuracy"][name] for name in ("mean", "deviation", "least", "most")]
        assert list(row.values())[2:] == [round(100 * one, 4) for one in spread]
    for format_ in ("table", "markdown", "csv", "html"):
        out = tmp_path / "out"
        assert show(found["run"], "--layout", "nvidia", "--format", format_, "-o", out,
                    results=folder).returncode == 0  # fmt: skip
        assert "Standard deviation" in out.read_text(), format_


def test_what_only_comparisons_have_is_refused_in_a_line(trained):
    folder, found = trained
    run = found["run"]
    for command, words, said in (
        ("diff", (run, run), "is a training run: mbench show"),
        ("report", (run,), "is a training run: mbench show"),
        ("compare", ("--resume", run), f"mbench train --resume {run} continues it"),
        ("show", (run, "--layout", "dlperf"), "training runs have no layout 'dlperf'"),
        ("show", (run, "--format", "junit"), "training runs have no format 'junit'"),
        ("show", (run, "--fail-if-slower", "3%"), "which has no --fail-if-slower"),
        ("show", (run, "--fail-if-slower", "0%"), "which has no --fail-if-slower"),
    ):
        result = show(*words, results=folder, command=command)
        assert result.returncode == 2, (command, result.stderr)
        assert said in said_by(result)
        assert len(result.stderr.strip().splitlines()) <= 2
    listed = show("runs", results=folder, command="list")
    assert run in listed.stdout


def test_a_run_that_was_cut_off_goes_on_by_seed(trained, tmp_path):
    folder, found = trained
    source = folder / found["run"] / "run.jsonl"
    kept = [line for line in source.read_text().splitlines()
            if '"seed":2,"losses"' not in line and '"event":"end"' not in line]  # fmt: skip
    run = tmp_path / found["run"]
    run.mkdir()
    (run / "run.jsonl").write_text("\n".join(kept) + '\n{"event": "trained_seed", "ca')
    result = train("--resume", found["run"], "--format", "json", "--seeds", 4, results=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "seed 3 of 4" in result.stderr
    assert "seed 2 of 4" not in result.stderr
    assert "float64" not in result.stderr, "it was proven before"
    assert shown(result)["pairs"][0]["seeds"] == 4
    again = record_of(load_run(run)).runs["tiny#1"]
    assert again[2].losses == record_of(load_run(source)).runs["tiny#1"][2].losses
    refused = train("--resume", found["run"], "--task", "glyphs", results=tmp_path)
    assert (refused.returncode, "leave out --task" in refused.stderr) == (2, True)
    (folder / "own.toml").write_text(TASK.replace("0.1\nmomentum", "0.2\nmomentum"))
    changed = train("--resume", found["run"], results=tmp_path)
    (folder / "own.toml").write_text(TASK)
    assert changed.returncode == 1
    assert "the task has changed since" in changed.stderr


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_what_is_trained_is_kept_when_it_is_ended_and_goes_on_by_seed(task, tmp_path, how):
    """No checkpoint of the current seed is kept: that seed begins again."""
    words = ["tiny", "--task", str(task), "--seeds", "3", "--threads", "1", "--results",
             str(tmp_path)]  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-m", "mbench", "train", *words], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    file = wait_for(lambda: next(tmp_path.glob("*/run.jsonl"), None))
    wait_for(lambda: '"event":"trained_seed"' in file.read_text())
    process.send_signal(how)
    out, err = process.communicate(timeout=60)
    run = file.parent.name
    done = len(record_of(load_run(file.parent)).runs["tiny"])
    assert 1 <= done < 3
    if how is signal.SIGINT:
        assert process.returncode == 130
        assert "tiny: accuracy" in out
        assert f"mbench train --resume {run} continues with the first incomplete seed" in err
    rest = train("--resume", run, "--format", "json", results=tmp_path)
    assert rest.returncode == 0, rest.stderr
    assert f"seed {done + 1} of 3" in rest.stderr
    assert f"seed {done} of 3" not in rest.stderr
    assert shown(rest)["arms"][0]["accuracy"]["count"] == 3


def wait_for(found):
    end = time.monotonic() + 120
    while not (result := found()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return result


def test_in_python(task, tmp_path):
    found = mbench.train(
        ["tiny"], task=task, seeds=1, results=tmp_path / "runs", quiet=True, threads=1
    )
    assert found.ok
    assert found.verdicts == {}
    assert found.to_json()["arms"][0]["accuracy"]["count"] == 1
    assert "accuracy 50 %" in str(found)
    assert (found.folder / "run.jsonl").exists()


@pytest.mark.parametrize(("change", "said"), [
    (("rule =", "rul ="), "own.toml, line 12, rul: unknown key"),
    (('"sgd"', '"adam"'), "rule: should be one of sgd, adamw, not 'adam'"),
    (("steps = 40", "steps = 4.5"), "steps: should be a whole number, not 4.5"),
    (("learning_rate = 0.1\n", ""), "[optimizer] lacks learning_rate"),
    (("value = 0.5", "value = -1"), "value: should be above 0, not -1"),
    (('"tiny-model"', '"tiny-modle"'), "unknown model 'tiny-modle'; did you mean"),
    (("every = 5", "every = 50"), "40 steps end before the first evaluation"),
    (('kind = "glyphs"', 'kind = "text"'), 'text needs inputs = "input_ids"'),
    (('kind = "glyphs"', 'kind = "idx"'), "needs its data"),
    (("seed = 3\ntrain = 400", "seed = 3"), "lacks train"),
    (("[data]", "[data"), "not valid TOML"),
    (("batch_size = 32", "batch_size = 4000"), "a batch of 4000 is more than the 400 examples"),
])  # fmt: skip
def test_a_task_that_is_wrong_is_refused_in_a_line(task, tmp_path, change, said):
    task.write_text(TASK.replace(*change))
    result = train("tiny", "--task", task, results=tmp_path)
    assert result.returncode == 2
    assert said in said_by(result)


@pytest.mark.parametrize(("words", "said"), [
    (("tiny",), "train needs a task"),
    (("--task", "glyphs"), "train needs a framework"),
    (("tiny", "--task", "glyps"), "unknown task 'glyps'; did you mean"),
    (("tiny", "--task", "fashion-mnist", "--data", "nowhere"), "nowhere; give --data the folder"),
    (("tinny", "--task", "glyphs"), "tinny"),
    (("tiny", "--task", "glyphs", "--seeds", "0"), "not a whole number of 1 or more"),
    (("--resume", "2020"), "no runs in"),
    (("tiny", "--task", "glyphs", "--output", "no/where.md"), "there is no folder"),
])  # fmt: skip
def test_what_does_not_exist_is_refused_in_a_line(words, said, tmp_path):
    result = train(*words, results=tmp_path)
    assert result.returncode == 2
    assert said in said_by(result)


def test_new_task_writes_one_that_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = commands.mbench("new", "task", "mine", env={**os.environ})
    assert result.returncode == 0, result.stderr
    assert Path("mine.toml").exists()
    again = commands.mbench("new", "task", "mine", env={**os.environ})
    assert (again.returncode, "already exists" in again.stderr) == (2, True)
