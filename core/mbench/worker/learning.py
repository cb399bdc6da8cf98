"""Trains a model by a lesson, and evaluates it, with the normal methods of a benchmark.

A model in training and one in inference mode are two benchmarks of one process: to evaluate, the
second takes over the parameters of the first.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from mbench.contract import learning, wire
from mbench.contract.case import ProofWork
from mbench.contract.sketch import sketch
from mbench.scenarios.find import in_mode, prepared, resolve, work_of
from mbench.worker import evidence
from mbench.worker.batch_cycler import BatchCycler
from mbench.worker.clock import time_steps
from mbench.worker.feeds import is_fed
from mbench.worker.perturbation import nudged_parameter
from mbench.worker.photographs import PhotographFeed
from mbench.workloads.lessons import Feed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mbench.contract.adapter import Runtime
    from mbench.contract.benchmark import Benchmark
    from mbench.contract.case import Case
    from mbench.contract.scenario import Steps

    HeldOut = tuple[dict[str, np.ndarray], np.ndarray]  # a batch, and the labels that count

__all__ = ["Lessons"]

HELD_BYTES = 2**30
"""The most held-out data that is kept in the form it is fed; more is drawn again each time."""
FEWEST_SLOTS = 2
"""Batches that a training run holds at a time: the last step may still be reading its own."""


class Lessons:
    """One training run."""

    def __init__(self, runtime: Runtime, message: learning.PrepareLesson) -> None:
        begin = perf_counter()
        self.lesson, self.seed, self.folder = message.lesson, message.seed, message.data
        self.rates = self.lesson.rates(message.steps)
        self.evaluator = self.steps_of(runtime, message, "inference")
        self.trainer = self.steps_of(runtime, message, "train")
        self.feed = self.feed_of(message.case)
        self.done = 0
        self.held: dict[int, list[HeldOut]] = {}
        self.start(nudge=message.nudged)
        self.seconds = perf_counter() - begin

    def steps_of(self, runtime: Runtime, message: learning.PrepareLesson, mode: str) -> Steps:
        """The steps of the case in a mode, with the lesson's model and optimizer."""
        case = replace(
            in_mode(message.case, mode), batch_size=self.lesson.batch_size, dropout=False,
            seed=self.seed,
        )  # fmt: skip
        workload = resolve(case, ProofWork(optimizer=self.lesson.optimizer))
        config = replace(workload.config, **self.lesson.config)  # type: ignore[type-var]
        return prepared(runtime, work_of(case, workload.replace(config=config)))

    def feed_of(self, case: Case) -> Feed | PhotographFeed:
        """The source of batches: the parent's arrays, or a pipeline that reads the case's files."""
        if not is_fed(case):
            return Feed(self.lesson, self.folder, seed=self.seed)
        size = getattr(self.trainer.work.workload.config, "image_size", 0)
        return PhotographFeed(self.lesson, self.model, case, seed=self.seed, size=size)

    def close(self) -> None:
        """Shut down the source of batches."""
        self.feed.close()

    @property
    def model(self) -> Benchmark:
        """The model that is trained."""
        return self.trainer.benchmark

    def start(self, *, nudge: int) -> None:
        """Load the starting parameters, after a few steps on fed data: whatever these compile or
        find out is not part of the training.
        """
        self.model.set_learning_rate(self.lesson.optimizer.learning_rate)
        for at in range(FEWEST_SLOTS):
            self.model.feed(at, self.feed.batch(at))
        cycler = BatchCycler(self.trainer)
        self.kept = evidence.keep(cycler, wire.Keep()).results
        evidence.load(self.trainer, partial(self.initial, nudge=nudge), batches=range(FEWEST_SLOTS))
        self.evaluate(learning.EvaluateModel(examples=self.lesson.batch_size))
        self.trainer.synchronize()

    def initial(self, *, nudge: int = 0) -> Iterator[tuple[str, np.ndarray]]:
        """The starting parameters that belong to the seed, nudged if `nudge` is not 0."""
        work = self.trainer.work
        if not nudge:
            return work.workload.parameters(seed=self.seed)
        return ((one.name, nudged_parameter(work, one, nudge)) for one in work.workload.tensors())

    def prepared(self) -> wire.Prepared:
        return wire.Prepared(
            seconds=self.seconds,
            differences=[*self.model.differences, *self.feed.differences],
            trainable_parameters=self.model.trainable_parameters(),
            batches=FEWEST_SLOTS,
        )

    def learn(self, message: learning.Learn) -> learning.Learnt:
        """Run `message.count` steps, in parts small enough that all losses are kept."""
        losses: list[float | None] = []
        nanoseconds = 0
        most = max(1, self.kept)
        for first in range(0, message.count, most):
            count = min(most, message.count - first)
            batches = self.feed.batches(self.done, count)
            elapsed = time_steps(partial(self.step, batches), self.trainer.synchronize, count=count)
            nanoseconds += sum(elapsed.nanoseconds)
            for back in range(count - 1, -1, -1):
                self.model.recall_result(back)
                losses.append(finite(self.model.loss()))
            self.model.recall_result(0)
        return learning.Learnt(losses=losses, nanoseconds=nanoseconds)

    def step(self, batches: Iterator[dict[str, np.ndarray]]) -> None:
        """The next step: its rate, its batch, its update."""
        slot = self.done % FEWEST_SLOTS
        self.model.set_learning_rate(self.rates[self.done])
        self.model.feed(slot, next(batches))
        self.trainer.run(slot)
        self.done += 1

    def evaluate(self, message: learning.EvaluateModel) -> learning.Evaluated:
        """Evaluate on the held-out data. Data that is kept is drawn before the clock starts;
        otherwise drawing it, or reading it with a pipeline, is timed too.
        """
        batches = self.held_out(message.examples)
        judged = Judged()

        def run() -> None:
            evaluator = self.evaluator.benchmark
            evaluator.load_parameters(self.model.parameters())
            for batch, labels in batches:
                evaluator.feed(0, batch)
                self.evaluator.run(0)
                self.evaluator.synchronize()
                judged.add(evaluator.outputs()[self.lesson.logits], labels)

        elapsed = time_steps(run, self.evaluator.synchronize, count=1)
        return learning.Evaluated(
            correct=judged.correct,
            labels=judged.labels,
            loss=finite(judged.loss / max(1, judged.labels)),
            nanoseconds=sum(elapsed.nanoseconds),
            logits=judged.logits,
        )

    def held_out(self, examples: int) -> Iterable[HeldOut]:
        """The held-out data, or its first `examples`; if it is small, it is kept as it is fed."""
        if not self.feed.keeps:
            return self.feed.held_out(self.lesson.batch_size, examples)
        if examples not in self.held:
            drawn = partial(self.feed.held_out, self.lesson.batch_size, examples)
            size = sum(array.nbytes for array in next(drawn())[0].values())
            size *= 1 + (examples or self.feed.count("test")) // self.lesson.batch_size
            self.held = {examples: list(drawn()) if size <= HELD_BYTES else []}
        return self.held[examples] or self.feed.held_out(self.lesson.batch_size, examples)

    def sketch(self, _: learning.SketchTensors) -> learning.Sketches:
        initial = dict(self.initial())
        changes = {}
        for name, array in self.model.parameters():
            if np.isfinite(array).all():
                changes[name] = sketch(name, array, start=initial[name])
            else:
                raise ValueError(f"{name} is not finite after {self.done} steps")
        return learning.Sketches(changes=changes)


class Judged:
    """Logits (B, K) or (B, L, K) compared with their labels."""

    def __init__(self) -> None:
        self.correct = self.labels = 0
        self.loss = 0.0
        self.logits: list[float] = []
        """A sketch of the first batch's logits."""

    def add(self, logits: np.ndarray, labels: np.ndarray) -> None:
        """`labels` are those that count, of the first examples of the batch."""
        logits = np.asarray(logits[: len(labels)], dtype=np.float64)
        if not self.logits and np.isfinite(logits).all():
            self.logits = sketch("logits", logits)
        rows = logits.reshape(-1, logits.shape[-1])
        flat = labels.reshape(-1)
        top = rows.max(axis=1)
        own = rows[np.arange(len(flat)), flat]
        self.loss += float((np.log(np.exp(rows - top[:, None]).sum(axis=1)) + top - own).sum())
        self.correct += int((rows.argmax(axis=1) == flat).sum())
        self.labels += len(flat)


def finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
