"""Trains all frameworks of a run: first the proofs in float64 and of the first steps, then seeds,
each of which all frameworks train in turns, one computing at a time.
"""

from __future__ import annotations

import random
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mbench.contract import learning, wire
from mbench.contract.learning import EXACT_STEPS
from mbench.contract.reading import Malformed
from mbench.engine.isolation import scratch, temporary_folder
from mbench.engine.launch import launch
from mbench.engine.outcome import CaseEnded
from mbench.errors import MbenchError
from mbench.learning.record import Answers, Ended, Evaluation, Framework, LossPath, SeedRun
from mbench.measure.pixel_proof import observe_pixels, probe_case
from mbench.proofs import pixels
from mbench.proofs.proof_case import exact_case
from mbench.scenarios.find import resident

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from mbench.contract.adapter import FrameworkInfo
    from mbench.contract.case import Case
    from mbench.contract.learning import Lesson
    from mbench.environments.environment import Environment
    from mbench.learning.data import Arrays
    from mbench.learning.record import Writer
    from mbench.learning.task import Task
    from mbench.measure.environment_pool import EnvironmentPool
    from mbench.plugins.launcher import Worker
    from mbench.spec.planning import Entry

__all__ = ["PATH_STEPS", "Trainer"]

NUDGES = 3
"""Paths from starts a unit in the last place away: a single one may meet no edge, such as a ReLU's,
at which rounding decides."""
PATH_STEPS = 100
"""The first steps of the schedule as it is, of which losses are compared."""
FIRST_STEPS = 10
"""That a worker makes for one answer, before it is known how long they take;"""
ANSWER_SECONDS = 60.0
"""after that as many as take so long: an answer has a time limit, and the steps between two
evaluations may take hours."""


@dataclass(frozen=True, kw_only=True)
class Trainer:
    """What a run is made with; `hear` is told what goes on."""

    task: Task
    arrays: Arrays
    entries: Sequence[Entry]
    seeds: int
    environments: EnvironmentPool
    writer: Writer
    timeout: float
    hear: Callable[[str], None]

    def run(self) -> None:
        """All of it; what the run has already is not made again. Raises KeyboardInterrupt."""
        with scratch():
            found = {e.label: env for e in self.entries if (env := self.environment(e))}
            for entry in self.entries:
                if entry.label in found and not self.prove(entry, found[entry.label]):
                    del found[entry.label]
            for seed in range(self.seeds):
                due = [
                    entry for entry in self.entries
                    if entry.label in found and seed not in self.runs_of(entry)
                ]  # fmt: skip
                if due:
                    self.hear(f"seed {seed + 1} of {self.seeds}: "
                              f"{', '.join(entry.label for entry in due)}")  # fmt: skip
                    self.train(seed, due, found)

    def runs_of(self, entry: Entry) -> dict[int, SeedRun]:
        return self.writer.record.runs.get(entry.label, {})

    @property
    def folder(self) -> Path:
        return self.writer.folder

    def end(
        self, entry: Entry, error: CaseEnded | MbenchError | Malformed, seed: int | None = None
    ) -> None:
        """Write down why an entry cannot go on."""
        end = CaseEnded.of(error)
        self.writer.append(
            Ended(label=entry.label, outcome=end.outcome, reason=end.reason, seed=seed)
        )
        self.hear(f"{entry.label}: {end.outcome}: {end.reason}")

    def environment(self, entry: Entry) -> Environment | None:
        try:
            if not entry.support.supported:
                raise CaseEnded(entry.lack, entry.support.reason)
            return self.environments.environment_for(entry)
        except (CaseEnded, MbenchError, Malformed) as error:
            self.end(entry, error)
            return None

    def start(self, entry: Entry, case: Case, environment: Environment, what: str) -> Worker:
        """A worker of the entry; raises CaseEnded."""
        info: FrameworkInfo
        worker, info = launch(
            entry.adapter, environment, case, log=self.folder / f"{entry.number}-{what}.log",
            timeout=self.timeout,
        )  # fmt: skip
        self.versions[entry.label] = info.version
        return worker

    @property
    def versions(self) -> dict[str, str]:
        found: dict[str, str] = self.__dict__.setdefault("_versions", {})
        return found

    def ask_lesson(
        self, worker: Worker, case: Case, lesson: Lesson, *, seed: int = 0, nudged: int = 0
    ) -> wire.Prepared:
        message = learning.PrepareLesson(
            case=case, lesson=lesson, data=str(self.arrays.folder), seed=seed, steps=lesson.steps,
            nudged=nudged,
        )  # fmt: skip
        return worker.ask(message, wire.Prepared)

    def prove(self, entry: Entry, environment: Environment) -> bool:
        """The answers in float64 and the first losses as they are timed, of one entry; False if it
        cannot go on.
        """
        record = self.writer.record
        if entry.label in record.paths and entry.label in record.answers:
            return True
        self.hear(f"{entry.label}: {EXACT_STEPS} steps in float64, and its first "
                  f"{self.path_steps} as it is timed")  # fmt: skip
        case, lesson = resident(entry.case), self.task.lesson.reduced()
        try:
            read = read_as_asked(self, entry, environment) if case != entry.case else []
            answers = self.answers(entry, environment)
            with closing(self.start(entry, case, environment, "first-steps")) as worker:
                paths = []
                for nudged in range(1 + NUDGES):
                    made = self.ask_lesson(worker, case, lesson, nudged=nudged)
                    paths.append(self.losses(worker, self.path_steps))
        except (CaseEnded, Malformed) as error:
            self.end(entry, error)
            return False
        differences = [*made.differences, *(one for one in read if one not in made.differences)]
        self.writer.append(
            Framework(
                label=entry.label, version=self.versions[entry.label], differences=differences
            )
        )
        self.writer.append(answers)
        self.writer.append(LossPath(label=entry.label, losses=paths[0], nudged=paths[1:]))
        return True

    @property
    def path_steps(self) -> int:
        lesson = self.task.lesson
        return min(PATH_STEPS, lesson.steps, lesson.proof_steps or PATH_STEPS)

    def losses(self, worker: Worker, steps: int) -> list[float | None]:
        return worker.ask(learning.Learn(count=steps), learning.Learnt).losses

    def answers(self, entry: Entry, environment: Environment) -> Answers:
        """In float64; raises CaseEnded."""
        case, lesson = exact_case(entry.adapter, resident(entry.case)), self.task.lesson
        if case.precision != "fp64":
            lack = f"{entry.adapter.title} has no float64 for {self.task.model} here"
            return Answers(label=entry.label, lack=lack)
        some = learning.EvaluateModel(examples=lesson.reduced().batch_size)
        with closing(self.start(entry, case, environment, "float64")) as worker:
            self.ask_lesson(worker, case, lesson.squeezed())
            before = worker.ask(some, learning.Evaluated)
            losses = self.losses(worker, EXACT_STEPS)
            after = worker.ask(some, learning.Evaluated)
            changes = worker.ask(learning.SketchTensors(), learning.Sketches).changes
            self.ask_lesson(worker, case, lesson.reduced())
            path = self.losses(worker, self.path_steps)
        return Answers(
            label=entry.label, losses=losses, changes=changes,
            logits=[before.logits, after.logits], path=path,
        )  # fmt: skip

    def train(self, seed: int, due: Sequence[Entry], found: dict[str, Environment]) -> None:
        """One seed of all that are due, in turns of the steps between two evaluations."""
        order = random.Random(f"{self.task.digest}/{seed}")
        with ExitStack() as stack:
            pupils = []
            for entry in due:
                try:
                    worker = self.start(entry, entry.case, found[entry.label], f"seed-{seed}")
                    stack.enter_context(closing(worker))
                    made = self.ask_lesson(worker, entry.case, self.task.lesson, seed=seed)
                    worker.stop()
                    pupils.append(Pupil(entry, worker, made.seconds))
                except (CaseEnded, Malformed) as error:
                    self.end(entry, error, seed)
                    found.pop(entry.label)
            steps, every = self.task.lesson.steps, self.task.every
            for first in range(0, steps, every):
                for pupil in order.sample(pupils, len(pupils)):
                    try:
                        pupil.go_on(min(every, steps - first), self.task.examples)
                    except (CaseEnded, Malformed) as error:
                        self.end(pupil.entry, error, seed)
                        found.pop(pupil.entry.label)
                        pupils.remove(pupil)
                if pupils and (first // every) % 10 == 9:
                    self.hear(f"  step {first + every}: " + ", ".join(p.standing for p in pupils))
            for pupil in pupils:
                self.writer.append(pupil.run(seed))


def read_as_asked(trainer: Trainer, entry: Entry, environment: Environment) -> list[str]:
    """What an input pipeline does its own way, once its pixels are proven; raises CaseEnded where
    they are not those that were asked for.
    """
    with temporary_folder() as folder:
        pixels.write_probes(folder, "a")
        case = probe_case(entry.case, folder)
        with closing(trainer.start(entry, case, environment, "pixels")) as worker:
            prepared = worker.prepare(case)
            found = observe_pixels(worker, folder, depth=prepared.depth, threads=case.threads)
    if found.failures or found.grade == pixels.ANOTHER:
        said = "; ".join(found.failures) or found.said
        raise CaseEnded("not-equal", f"pixels of the input pipeline: {said}")
    return [*prepared.differences, f"pixels of its input pipeline are {found.grade}"]


class Pupil:
    """A framework that trains one seed."""

    def __init__(self, entry: Entry, worker: Worker, setup_seconds: float) -> None:
        self.entry, self.worker, self.setup_seconds = entry, worker, setup_seconds
        self.losses: list[float | None] = []
        self.evaluations: list[Evaluation] = []
        self.step_seconds: list[float] = []
        self.at_once = FIRST_STEPS

    def go_on(self, count: int, examples: int) -> None:
        """So many steps, and an evaluation; raises CaseEnded."""
        self.worker.resume()
        losses: list[float | None] = []
        seconds = 0.0
        while len(losses) < count:
            due = min(count - len(losses), self.at_once)
            learnt = self.worker.ask(learning.Learn(count=due), learning.Learnt)
            if len(learnt.losses) != due:
                raise CaseEnded("failed", f"{len(learnt.losses)} losses, where {due} are due")
            losses += learnt.losses
            seconds += learnt.nanoseconds / 1e9
            self.at_once = max(1, int(ANSWER_SECONDS / seconds * len(losses)))
        seen = self.worker.ask(learning.EvaluateModel(examples=examples), learning.Evaluated)
        self.worker.stop()
        self.losses += losses
        self.step_seconds.append(seconds)
        self.evaluations.append(
            Evaluation(
                step=len(self.losses), accuracy=seen.correct / max(1, seen.labels), loss=seen.loss,
                seconds=seen.nanoseconds / 1e9,
            )
        )  # fmt: skip

    @property
    def standing(self) -> str:
        return f"{self.entry.label} {100 * self.evaluations[-1].accuracy:.1f} %"

    def run(self, seed: int) -> SeedRun:
        return SeedRun(
            label=self.entry.label, seed=seed, losses=self.losses, evaluations=self.evaluations,
            step_seconds=self.step_seconds, setup_seconds=self.setup_seconds,
        )  # fmt: skip
