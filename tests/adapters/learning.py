"""What adapters that train have in common: a task's first steps, in float64 and in fp32."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
from cases import make_case

from mbench.contract import learning
from mbench.learning.data import arrays_of
from mbench.learning.judge import distances
from mbench.learning.record import Answers
from mbench.learning.task import find_task
from mbench.learning.train import EXACT_STEPS
from mbench.plugins.manager import Plugins
from mbench.worker.learning import Lessons


class LearningAlike:
    """`compilers` are those under which a rate must be able to change; the first has float64."""

    compilers: tuple[str, ...]
    make_runtime = None  # a Runtime

    def lessons(
        self, name="glyphs", *, precision="fp64", steps=EXACT_STEPS, compiler="", **changes
    ):
        task = find_task(name, Plugins())
        case = make_case(
            model=task.model, precision=precision, compiler=compiler or self.compilers[0],
            workload=task.workload,
        )  # fmt: skip
        message = learning.PrepareLesson(
            case=case, lesson=replace(task.lesson, **changes), seed=0, steps=steps,
            data=str(arrays_of(task).folder),
        )  # fmt: skip
        return task, Lessons(type(self).make_runtime(device="cpu", threads=2), message)

    def test_first_steps_of_the_task_are_those_of_its_reference(self):
        task, lessons = self.lessons()
        some = learning.EvaluateModel(examples=task.lesson.batch_size)
        before = lessons.evaluate(some)
        losses = lessons.learn(learning.Learn(count=EXACT_STEPS)).losses
        after = lessons.evaluate(some)
        found = Answers(
            label="here", losses=losses, changes=lessons.sketch(None).changes,
            logits=[before.logits, after.logits],
        )  # fmt: skip
        known = json.loads(task.reference_file.read_text())
        assert known.pop("task") == task.digest
        worst = distances(found, Answers(label="reference", **known))
        assert max(worst.values()) < 1e-9, worst

    def test_the_rate_changes_under_every_compiler(self):
        for compiler in self.compilers:
            _, lessons = self.lessons(precision="fp32", steps=4, compiler=compiler)
            lessons.rates = [0.0, 0.0, 0.05, 0.05]
            lessons.learn(learning.Learn(count=2))
            norms = dict(lessons.model.parameters())
            lessons.learn(learning.Learn(count=2))
            start = dict(lessons.initial())
            assert np.array_equal(norms["fc.weight"], start["fc.weight"]), compiler
            moved = dict(lessons.model.parameters())["fc.weight"]
            assert not np.array_equal(moved, start["fc.weight"]), compiler
