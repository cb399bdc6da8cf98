"""Tasks on photographs and on masked tokens, as users meet them."""

from __future__ import annotations

import json
import os

import pytest
from support import commands

from mbench.learning.data import arrays_of
from mbench.learning.record import record_of
from mbench.learning.sentences import write
from mbench.learning.task import find_task
from mbench.plugins.manager import Plugins
from mbench.proofs.pixels import write_probes
from mbench.results.run import load_run

PHOTOGRAPHS = """
[data]
kind = "photographs"
[model]
name = "tiny-images"
[optimizer]
rule = "sgd"
learning_rate = 0.1
momentum = 0.9
weight_decay = 1e-3
spared = ["bias"]
[loss]
label_smoothing = 0.1
mixup = 0.2
[training]
batch_size = 4
steps = 24
[evaluation]
every = 12
average = 1
[target]
metric = "accuracy"
value = 0.3
[margin]
final = 0.5
seeds = 2
[proof]
batch_size = 3
steps = 10
"""


@pytest.fixture
def place(tmp_path):
    (tmp_path / "few.toml").write_text(PHOTOGRAPHS)
    write_probes(tmp_path / "probes", "a")
    return tmp_path


def train(place, *words, flaky=""):
    threads = [] if "--resume" in words else ["--threads", "1"]
    return commands.mbench(
        "train", *map(str, words), "--results", str(place), *threads, cwd=place,
        env={**os.environ, "XDG_CACHE_HOME": str(place / "cache"), "FLAKY": flaky},
    )  # fmt: skip


def test_photographs_are_read_by_pipelines_and_proven_without_them(place):
    result = train(
        place, "tiny", "--task", "few.toml", "--data", "probes", "--seeds", "1", "--format", "json",
        "--quiet",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    (arm,) = found["arms"]
    assert "pixels of its input pipeline are equal" in arm["differences"]
    assert "images are looked up by threads" in arm["differences"]
    assert arm["exact_holds"]
    assert arm["path"]["steps"] == 10
    assert arm["accuracy"]["count"] == 1
    (run,) = record_of(load_run(place / found["run"])).runs["tiny"].values()
    assert len(run.losses) == 24
    result = train(place, "--resume", found["run"], "--seeds", "1", "--quiet")
    assert result.returncode == 0, result.stderr
    (place / "probes" / "class0" / "new.jpg").write_bytes(b"another")
    result = train(place, "--resume", found["run"])
    assert (result.returncode, "the data has changed since" in result.stderr) == (1, True)


def test_a_pipeline_that_resizes_in_another_way_trains_nothing(place):
    result = train(place, "flaky", "--task", "few.toml", "--data", "probes", flaky="no-antialias")
    assert result.returncode == 1
    assert "not-equal: pixels of the input pipeline" in result.stderr
    assert "seed 1" not in result.stderr


@pytest.mark.parametrize(("words", "said"), [
    (("--task", "imagenet"), "imagenet needs photographs: give --data a folder"),
    (("--task", "imagenet", "--data", "nowhere"), "nowhere: give --data a folder"),
    (("--task", "imagenet", "--data", "probes"), "has 7 photographs to train on, but a batch"),
    (("--task", "imagenet-mixup", "--data", "probes/class0"), "needs at least two class folders"),
    (("--task", "bert"), "bert needs text: give a UTF-8 file"),
    (("--task", "bert", "--data", "nowhere.txt"), "cannot be read as UTF-8 text"),
    (("--task", "bert-small", "--data", "few.toml"), "is too short for bert-small: it has"),
    (("--task", "bert-small", "--data", "probes"), "cannot be read as UTF-8 text"),
])  # fmt: skip
def test_data_that_are_missing_or_too_few_are_refused_in_a_line(place, words, said):
    result = train(place, "tiny", *words)
    assert result.returncode == 2
    assert said in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(("change", "said"), [
    (('kind = "photographs"', 'kind = "photographs"\nflip = true'), "remove this"),
    (("tiny-images", "tiny-model"), "tiny-model does not accept photographs"),
    (('spared = ["bias"]', "spared = [1]"), "spared: should be parts of names"),
    (("[proof]", "[model.config]\nclases = 5\n[proof]"), "no such dimension; did you mean classes"),
    (("[proof]", "[model.config]\nclasses = 2\n[proof]"), "has 3 classes, but the model of few"),
    (('kind = "photographs"', 'kind = "masked-text"'), 'masked-text needs inputs = "input_ids"'),
])  # fmt: skip
def test_tasks_that_do_not_fit_are_refused_in_a_line(place, change, said):
    (place / "few.toml").write_text(PHOTOGRAPHS.replace(*change))
    result = train(place, "tiny", "--task", "few.toml", "--data", "probes")
    assert result.returncode == 2
    assert said in result.stderr


def test_a_text_becomes_pieces_of_a_vocabulary_made_from_it(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    task = find_task("bert-small", Plugins())
    file = tmp_path / "text.txt"
    file.write_text(write(300_000, seed=0))
    made = arrays_of(task, file)
    assert made.train > 9 * made.test > 0
    assert 300 < made.vocabulary < task.vocabulary
    file.write_text(write(300_000, seed=1))
    assert arrays_of(task, file).digest != made.digest


def test_a_texts_model_must_have_the_heads_of_its_kind(tmp_path):
    text = tmp_path / "own.toml"
    whole = find_task("bert-small", Plugins()).source
    with open(whole) as file:
        body = file.read()
    text.write_text(body.replace('"masked-text"', '"text"'))
    result = train(tmp_path, "tiny", "--task", text)
    assert (result.returncode, 'use kind = "masked-text"' in result.stderr) == (2, True)
    text.write_text(body.replace("predictions = 10", "predictions = 62"))
    result = train(tmp_path, "tiny", "--task", text)
    assert (result.returncode, "62 of 64 tokens cannot be masked" in result.stderr) == (2, True)
