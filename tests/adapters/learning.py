"""Tests of all adapters that train: a task's first steps are right, and faults in them show."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cases import make_case
from learning_faults import FAULTS, plant

from mbench.contract import learning
from mbench.contract.learning import EXACT_STEPS
from mbench.learning.data import arrays_of
from mbench.learning.judge import EXACT, distances, envelope, follow
from mbench.learning.sentences import write
from mbench.learning.task import find_task
from mbench.plugins.manager import Plugins
from mbench.proofs.pixels import write_probes
from mbench.results.training import Answers, LossPath
from mbench.worker.learning import Lessons

__all__ = ["LearningAlike", "PathsAlike", "answers_of", "small_task"]

SMALL = Path(__file__).parent / "learning_tasks"
"""Tasks like `imagenet` and `bert` with small models, and PyTorch's answers to them."""


def small_task(name, folder):
    """One of the small tasks, and the folder of its arrays, made from probes or from a text."""
    task = find_task(str(SMALL / f"{name}.toml"), Plugins())
    data = folder / "data"
    if name == "photographs":
        write_probes(data, "a")
    else:
        data.write_text(write(60_000, seed=0))
    return task, str(arrays_of(task, data).folder)


def answers_of(lessons, steps=EXACT_STEPS):
    """The answers that layer 1 asks for."""
    some = learning.EvaluateModel(examples=lessons.lesson.batch_size)
    before = lessons.evaluate(some)
    losses = lessons.learn(learning.Learn(count=steps)).losses
    after = lessons.evaluate(some)
    return Answers(
        losses=losses, changes=lessons.sketch(learning.SketchTensors()).changes,
        logits=[before.logits, after.logits],
    )  # fmt: skip


class LearningAlike:
    """Base of an adapter's tests. The learning rate must be able to change under each of
    `compilers`; the first has float64.
    """

    compilers: tuple[str, ...]
    make_runtime = None  # a Runtime
    threads = 1
    tasks = ("glyphs",)
    faults = tuple(FAULTS)
    """Faults that are planted in the task "glyphs"."""
    small_faults = ()
    """Faults that are planted in small tasks that have what the fault is about."""
    small_compiler = ""
    """The compiler for small tasks, if it is not the first of `compilers`."""

    def normalize_by_batch(self, benchmark):
        """Plants a fault: the evaluation's batch norm is in training mode."""
        raise NotImplementedError

    def lessons(self, name="glyphs", *, precision="fp64", compiler="", small=None, **changes):
        """The task and its prepared lessons; `small` is a folder for a small task's data."""
        task, data = small_task(name, small) if small else (find_task(name, Plugins()), "")
        case = make_case(
            model=task.model, precision=precision, compiler=compiler or self.compilers[0],
            workload=task.workload,
        )  # fmt: skip
        lesson = replace(task.lesson.squeezed(), **changes)
        message = learning.PrepareLesson(
            case=case, lesson=lesson, seed=0, steps=lesson.steps,
            data=data or str(arrays_of(task).folder),
        )  # fmt: skip
        return task, Lessons(type(self).make_runtime(device="cpu", threads=self.threads), message)

    def test_first_steps_of_a_task_are_those_of_its_reference(self):
        for name in self.tasks:
            task, lessons = self.lessons(name)
            known = json.loads(task.reference_file.read_text())
            assert known.pop("task") == task.digest
            assert known.pop("data") == arrays_of(task).digest
            worst = distances(answers_of(lessons), Answers(**known))
            assert max(worst.values()) < EXACT, (name, worst)

    @pytest.mark.parametrize("name", ["photographs", "masked"])
    def test_small_tasks_of_photographs_and_masked_tokens(self, name, tmp_path, monkeypatch):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        task, lessons = self.lessons(name, compiler=self.small_compiler, small=tmp_path)
        known = json.loads(task.reference_file.read_text())
        assert known.pop("task") == task.digest
        known = Answers(**known)
        worst = distances(answers_of(lessons), known)
        assert max(worst.values()) < EXACT, (name, worst)
        for fault in self.small_faults[: 3 if lessons.lesson.smoothing else 2]:
            _, lessons = self.lessons(name, compiler=self.small_compiler, small=tmp_path)
            plant(fault, lessons)
            assert distances(answers_of(lessons), known)["losses"] > EXACT, (name, fault)

    def test_faults_show_in_the_first_steps(self):
        few = {"batch_size": 16, "examples": 168}
        right = answers_of(self.lessons(**few)[1])
        for fault in self.faults:
            _, lessons = self.lessons(**few)
            plant(fault, lessons)
            assert distances(answers_of(lessons), right)[FAULTS[fault][1]] > EXACT, fault
        _, lessons = self.lessons(**few)
        self.normalize_by_batch(lessons.evaluator.benchmark)
        found = distances(answers_of(lessons), right)
        assert found["logits after training"] > EXACT
        assert found["losses"] < EXACT, "only its evaluation is wrong"

    def test_the_rate_changes_under_every_compiler(self):
        for compiler in self.compilers:
            _, lessons = self.lessons(precision="fp32", compiler=compiler)
            lessons.rates = [0.0, 0.0, 0.05, 0.05]
            lessons.learn(learning.Learn(count=2))
            still = dict(lessons.model.parameters())["fc.weight"]
            lessons.learn(learning.Learn(count=2))
            moved = dict(lessons.model.parameters())["fc.weight"]
            assert np.array_equal(still, dict(lessons.initial())["fc.weight"]), compiler
            assert not np.array_equal(still, moved), compiler


class PathsAlike(LearningAlike):
    """Tests of the second layer, too: faults that only the timed steps have."""

    first = 30
    """How many steps are followed."""

    def path(self, *, fault="", nudged=0, precision="fp32"):
        task = find_task("glyphs", Plugins())
        case = make_case(model=task.model, precision=precision, compiler=self.compilers[0],
                         workload=task.workload)  # fmt: skip
        lesson = replace(task.lesson, batch_size=16, examples=168)
        message = learning.PrepareLesson(
            case=case, lesson=lesson, seed=0, steps=self.first, nudged=nudged,
            data=str(arrays_of(task).folder),
        )  # fmt: skip
        lessons = Lessons(type(self).make_runtime(device="cpu", threads=self.threads), message)
        if fault:
            plant(fault, lessons)
        return lessons.learn(learning.Learn(count=self.first)).losses

    def test_faults_of_timed_steps_leave_the_path(self):
        """Such faults move losses further than nudged starts of the sound framework can explain."""
        right = self.path(precision="fp64")
        nudged = [self.path(nudged=at) for at in (1, 2)]
        sound = LossPath(losses=self.path(), nudged=nudged)
        wide = envelope({"one": sound}, right, "one")
        assert follow(sound.losses, right, wide, unit=2.0**-24).outside is None
        for fault in self.faults:
            found = follow(self.path(fault=fault), right, wide, unit=2.0**-24)
            if fault != "decay on norms":  # which moves losses about as far as rounding can
                assert (found.outside is None) is (fault == "evaluation on training data"), fault
