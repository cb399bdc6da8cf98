"""Faults of training, each caught by the layer that should: by timed steps or by the outcome.

Faults that are also in float64 steps show in the first layer, which adapters' tests cover.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from types import SimpleNamespace

import pytest
from cases import make_case
from learning_faults import FAULTS, plant
from mbench_tiny import Runtime

from mbench.contract import learning
from mbench.learning.analyse import crossing
from mbench.learning.data import arrays_of
from mbench.learning.judge import envelope, follow
from mbench.learning.task import find_task
from mbench.learning.train import Pupil
from mbench.plugins.manager import Plugins
from mbench.results.training import LossPath
from mbench.stats.equivalence import equivalence
from mbench.worker.learning import Lessons

TASK = """
[data]
kind = "glyphs"
seed = 3
train = 410
test = 200
shift = 1
[model]
name = "tiny-model"
inputs = "features"
[optimizer]
rule = "sgd"
learning_rate = 0.05
momentum = 0.9
weight_decay = 0.01
decay_vectors = false
[schedule]
shape = "cosine"
warmup = 0.2
[loss]
label_smoothing = 0.1
[training]
batch_size = 32
steps = 60
[evaluation]
every = 4
average = 2
[target]
metric = "accuracy"
value = 0.6
[margin]
final = 0.03
seeds = 5
"""
PATH = 40
SEEDS = 5
UNSEEN = "evaluation on training data"
"""A fault of evaluation: it changes no step's loss."""
SMALL = "decay on norms"
"""A fault that moves losses about as far as rounding can: it is chance whether timed steps show it.
Layer 1 always does.
"""


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    file = tmp_path_factory.mktemp("task") / "own.toml"
    file.write_text(TASK)
    return find_task(str(file), Plugins())


def lessons(task, *, precision="fp32", seed=0, nudged=0, fault=""):
    case = make_case(model=task.model, precision=precision, compiler="eager",
                     workload=task.workload)  # fmt: skip
    message = learning.PrepareLesson(
        case=case, lesson=task.lesson, seed=seed, steps=task.lesson.steps, nudged=nudged,
        data=str(arrays_of(task).folder),
    )  # fmt: skip
    found = Lessons(Runtime(device="cpu", threads=1), message)
    if fault:
        plant(fault, found)
    return found


def losses(task, **changes):
    return lessons(task, **changes).learn(learning.Learn(count=PATH)).losses


def followed(task, right, fault=""):
    paths = [losses(task, nudged=nudged, fault=fault) for nudged in range(4)]
    path = LossPath(losses=paths[0], nudged=paths[1:])
    wide = envelope({"one": path}, right, "one")
    return follow(path.losses, right, wide, unit=2.0**-24)


def test_a_fault_of_steps_that_only_timed_ones_have_leaves_the_path(task):
    right = losses(task, precision="fp64")
    sound = followed(task, right)
    assert (sound.outside, sound.steps) == (None, PATH)
    for fault in FAULTS:
        seen = followed(task, right, fault).outside is not None
        assert fault == SMALL or seen is (fault != UNSEEN), fault


class Here:
    """Stands in for a worker, within this process, as far as a pupil needs one."""

    def __init__(self, found):
        self.lessons = found

    def resume(self):
        pass

    def stop(self):
        pass

    def ask(self, message, _):
        done = self.lessons.learn if isinstance(message, learning.Learn) else self.lessons.evaluate
        return done(message)


def outcomes(task, fault=""):
    """Logarithms of the steps to the target, and final accuracies, by seed."""
    steps, finals = [], []
    for seed in range(SEEDS):
        here = Here(lessons(task, seed=seed, fault=fault))
        pupil = Pupil(SimpleNamespace(label="one", number=0), here, 0.0)
        for _ in range(0, task.lesson.steps, task.every):
            pupil.go_on(task.every, task.examples)
        run = pupil.run(seed)
        steps.append(math.log(crossing(run, asdict(task))))
        finals.append(run.evaluations[-1].accuracy)
    return steps, finals


def test_a_fault_of_outcomes_is_seen_in_them(task):
    """Faults that change what is reached, or how soon, are seen; another start changes neither."""
    right = outcomes(task)
    assert all(map(math.isfinite, right[0]))

    def verdicts(other):
        margins = math.log1p(task.margin.steps), task.margin.final
        pairs = [[b - a for a, b in zip(*two, strict=True)]
                 for two in zip(right, other, strict=True)]  # fmt: skip
        return [equivalence(*one).verdict for one in zip(pairs, margins, strict=True)
                if all(map(math.isfinite, one[0]))]  # fmt: skip

    for fault in ("momentum forgotten", "evaluation on training data"):
        assert "different" in verdicts(outcomes(task, fault)), fault
    assert "different" not in verdicts(outcomes(task, "another seed's start"))
