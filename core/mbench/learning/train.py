"""Trains all frameworks of a run: first the proofs in float64 and of the first steps, then the
seeds. All frameworks take turns on each seed, so that only one computes at a time.
"""

from __future__ import annotations

import random
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mbench.contract import learning, wire
from mbench.contract.learning import EXACT_STEPS
from mbench.contract.reading import Malformed
from mbench.engine.isolation import temporary_folder
from mbench.engine.launch import launch
from mbench.engine.outcome import CaseEnded
from mbench.learning.judge import FAR, distances
from mbench.measure import facts
from mbench.measure.activity import CaseStopped, Notice
from mbench.measure.execute import environments_for
from mbench.measure.pixel_proof import observe_pixels, probe_case
from mbench.measure.resume import is_written
from mbench.proofs import pixels
from mbench.proofs.proof_case import exact_case
from mbench.results import events
from mbench.results.training import (
    Answers,
    Evaluation,
    ExactAnswers,
    FirstLosses,
    TrainedSeed,
    TrainingTask,
)
from mbench.scenarios.find import resident, resolve, work_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.contract.case import Case
    from mbench.contract.learning import Lesson
    from mbench.environments.environment import Environment
    from mbench.learning.data import Arrays
    from mbench.learning.task import Task
    from mbench.measure.run_context import RunContext
    from mbench.plugins.launcher import Worker
    from mbench.spec.planning import Comparison, Entry

__all__ = ["PATH_STEPS", "Pupil", "train"]

NUDGES = 3
"""Number of paths from starts that are one unit in the last place away: a single path may miss
every edge, such as a ReLU's, at which rounding decides."""
PATH_STEPS = 100
"""First steps of the unchanged schedule whose losses are compared."""
FIRST_STEPS = 10
"""Steps per answer of a worker before it is known how long a step takes."""
ANSWER_SECONDS = 60.0
"""After that, an answer covers as many steps as take about this long: an answer has a time limit,
and the steps between two evaluations may take hours."""


def train(
    task: Task, arrays: Arrays, known: TrainingTask, comparisons: Sequence[Comparison],
    context: RunContext, /,
) -> None:  # fmt: skip
    """Train everything that a run does not have yet. An interruption leaves only whole seeds."""
    (comparison,) = comparisons
    announce(task, known, comparison, context)
    found = environments_for(comparison.entries, replace(context, verify=False))
    Trainer(task, arrays, comparison.entries, found, context).run()
    context.store.append(events.ComparisonEnd(comparison=0, reason="all seeds trained"))


def announce(task: Task, known: TrainingTask, comparison: Comparison, context: RunContext) -> None:
    """Record what is trained, and by which frameworks."""
    earlier, store = context.earlier, context.store
    if earlier is None or not any(isinstance(one, TrainingTask) for one in earlier.more):
        store.append(known)
    if earlier is None or comparison.number not in earlier.comparisons:
        store.append(events.Comparison(comparison=comparison.number, title=comparison.title))
    if earlier is not None and is_written(earlier, comparison):
        return
    for case in facts.cases(comparison):
        workload = resolve(case.axes)
        config = replace(workload.config, **task.lesson.config)  # type: ignore[type-var]
        work = work_of(case.axes, workload.replace(config=config))
        store.append(
            replace(
                case,
                flops_per_sample=work.flops_per_sample / work.samples_per_item,
                masked_flops_per_sample=work.masked_flops_per_sample / work.samples_per_item,
                samples_per_item=work.samples_per_item,
            )
        )


@dataclass(frozen=True)
class Trainer:
    task: Task
    arrays: Arrays
    entries: Sequence[Entry]
    found: dict[int, Environment]
    """Environments of the entries that have not ended, by entry number."""
    context: RunContext

    def run(self) -> None:
        for entry in self.entries:
            if entry.number in self.found:
                self.prove(entry)
        seeds = self.context.store.run.protocol.processes
        for seed in range(seeds):
            due = [
                entry for entry in self.entries
                if entry.number in self.found and not self.has(TrainedSeed, entry, seed=seed)
            ]  # fmt: skip
            if due:
                self.context.look()
                self.hear(f"seed {seed + 1} of {seeds}: {', '.join(e.label for e in due)}")
                self.train(seed, due)

    def has(self, kind: type[events.OfCase], entry: Entry, **fields: int) -> bool:
        """Whether the run contains such an event for an entry."""
        return any(
            isinstance(event, kind) and event.case == entry.number
            and all(getattr(event, name) == value for name, value in fields.items())
            for event in self.context.store.run.more
        )  # fmt: skip

    def hear(self, text: str) -> None:
        self.context.listener.hear(Notice(text))

    def end(self, entry: Entry, error: CaseEnded | Malformed) -> None:
        """Record why an entry cannot go on."""
        end = CaseEnded.of(error)
        self.found.pop(entry.number)
        self.context.store.append(facts.outcome(entry, end))
        self.context.listener.hear(CaseStopped(entry.label, end))

    def start(self, entry: Entry, case: Case, what: str, *, process: int | None = None) -> Worker:
        """A worker for the entry, which the caller closes; raises CaseEnded."""
        context, environment = self.context, self.found[entry.number]
        worker, info = launch(
            entry.adapter, environment, case,
            log=context.store.log_path(f"{entry.number:03}-{entry.spec.name}-{what}.log"),
            timeout=context.launch.timeout_seconds, launcher=context.launcher,
            memory_limit_bytes=context.launch.memory_limit_bytes, timed=process is not None,
        )  # fmt: skip
        if context.store.run.cases[entry.number].info is None:
            for fact in facts.framework(entry, info, context.store.system):
                if isinstance(fact, events.Framework):
                    context.store.append(fact)
        if process is not None:
            for state in facts.worker_states(entry, process, worker, environment):
                context.store.append(state)
        return worker

    def ask_lesson(
        self, worker: Worker, case: Case, lesson: Lesson, *, seed: int = 0, nudged: int = 0
    ) -> wire.Prepared:
        message = learning.PrepareLesson(
            case=case, lesson=lesson, data=str(self.arrays.folder), seed=seed, steps=lesson.steps,
            nudged=nudged,
        )  # fmt: skip
        return worker.ask(message, wire.Prepared)

    def prove(self, entry: Entry) -> None:
        """One entry's answers in float64, and its first losses as timed."""
        if self.has(FirstLosses, entry):
            return
        self.hear(f"{entry.label}: {EXACT_STEPS} steps in float64, then its first "
                  f"{self.path_steps} as timed")  # fmt: skip
        case, lesson = resident(entry.case), self.task.lesson.reduced()
        try:
            read = self.read_as_asked(entry) if case != entry.case else []
            answers = self.answers(entry)
            with closing(self.start(entry, case, "first-steps")) as worker:
                paths = []
                for nudged in range(1 + NUDGES):
                    made = self.ask_lesson(worker, case, lesson, nudged=nudged)
                    paths.append(self.losses(worker, self.path_steps))
        except (CaseEnded, Malformed) as error:
            self.end(entry, error)
            return
        differences = [*made.differences, *(one for one in read if one not in made.differences)]
        self.context.store.append(answers)
        self.context.store.append(
            FirstLosses(
                case=entry.number, losses=paths[0], nudged=paths[1:], differences=differences
            )
        )

    def read_as_asked(self, entry: Entry) -> list[str]:
        """What an input pipeline does in its own way, once its pixels are proven; raises CaseEnded
        if they are not the requested ones.
        """
        with temporary_folder() as folder:
            pixels.write_probes(folder, "a")
            case = probe_case(entry.case, folder)
            with closing(self.start(entry, case, "pixels")) as worker:
                prepared = worker.prepare(case)
                found = observe_pixels(worker, folder, depth=prepared.depth, threads=case.threads)
        if found.failures or found.grade == pixels.ANOTHER:
            said = "; ".join(found.failures) or found.said
            raise CaseEnded("not-equal", f"pixels of the input pipeline: {said}")
        return [*prepared.differences, f"pixels of its input pipeline are {found.grade}"]

    @property
    def path_steps(self) -> int:
        lesson = self.task.lesson
        return min(PATH_STEPS, lesson.steps, lesson.proof_steps or PATH_STEPS)

    def losses(self, worker: Worker, steps: int) -> list[float | None]:
        return worker.ask(learning.Learn(count=steps), learning.Learnt).losses

    def answers(self, entry: Entry) -> ExactAnswers:
        """The answers in float64; raises CaseEnded."""
        case, lesson = exact_case(entry.adapter, resident(entry.case)), self.task.lesson
        if case.precision != "fp64":
            lack = f"{entry.adapter.title} has no float64 for {self.task.model} here"
            return ExactAnswers(case=entry.number, lack=lack)
        some = learning.EvaluateModel(examples=lesson.reduced().batch_size)
        with closing(self.start(entry, case, "float64")) as worker:

            def after_steps(nudged: int) -> Answers:
                self.ask_lesson(worker, case, lesson.squeezed(), nudged=nudged)
                before = worker.ask(some, learning.Evaluated)
                losses = self.losses(worker, EXACT_STEPS)
                after = worker.ask(some, learning.Evaluated)
                changes = worker.ask(learning.SketchTensors(), learning.Sketches).changes
                logits = [before.logits, after.logits]
                return Answers(losses=losses, changes=changes, logits=logits)

            found = after_steps(0)
            rounding = max(distances(after_steps(1), found).values())
            self.ask_lesson(worker, case, lesson.reduced())
            path = self.losses(worker, self.path_steps)
        return ExactAnswers(
            case=entry.number, losses=found.losses, changes=found.changes, logits=found.logits,
            path=path, rounding=min(rounding, FAR),
        )  # fmt: skip

    def train(self, seed: int, due: Sequence[Entry]) -> None:
        """Train one seed of all due entries; a turn is the steps between two evaluations."""
        order = random.Random(f"{self.task.digest}/{seed}")
        with ExitStack() as stack:
            pupils = []
            for entry in due:
                try:
                    worker = self.start(entry, entry.case, f"seed-{seed}", process=seed)
                    stack.enter_context(closing(worker))
                    made = self.ask_lesson(worker, entry.case, self.task.lesson, seed=seed)
                    worker.stop()
                    pupils.append(Pupil(entry, worker, made.seconds))
                except (CaseEnded, Malformed) as error:
                    self.end(entry, error)
            steps, every = self.task.lesson.steps, self.task.every
            for first in range(0, steps, every):
                for pupil in order.sample(pupils, len(pupils)):
                    try:
                        pupil.go_on(min(every, steps - first), self.task.examples)
                    except (CaseEnded, Malformed) as error:
                        self.end(pupil.entry, error)
                        pupils.remove(pupil)
                if pupils and (first // every) % 10 == 9:
                    self.hear(f"  step {first + every}: " + ", ".join(p.standing for p in pupils))
            for pupil in pupils:
                self.context.store.append(pupil.run(seed))


class Pupil:
    """A framework that trains one seed."""

    def __init__(self, entry: Entry, worker: Worker, setup_seconds: float) -> None:
        self.entry, self.worker, self.setup_seconds = entry, worker, setup_seconds
        self.losses: list[float | None] = []
        self.evaluations: list[Evaluation] = []
        self.step_seconds: list[float] = []
        self.at_once = FIRST_STEPS

    def go_on(self, count: int, examples: int) -> None:
        """Make `count` steps, then evaluate; raises CaseEnded."""
        self.worker.resume()
        losses: list[float | None] = []
        seconds = 0.0
        while len(losses) < count:
            due = min(count - len(losses), self.at_once)
            learnt = self.worker.ask(learning.Learn(count=due), learning.Learnt)
            if len(learnt.losses) != due:
                raise CaseEnded("failed", f"{len(learnt.losses)} losses instead of {due}")
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

    def run(self, seed: int) -> TrainedSeed:
        """The seed as recorded; losses keep only float32's digits, to limit the file's size."""
        losses = [None if loss is None else float(f"{loss:.9g}") for loss in self.losses]
        return TrainedSeed(
            case=self.entry.number, seed=seed, losses=losses, evaluations=self.evaluations,
            step_seconds=self.step_seconds, setup_seconds=self.setup_seconds,
        )  # fmt: skip
