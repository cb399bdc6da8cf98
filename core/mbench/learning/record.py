"""A training run as the analysis sees it: task and frameworks, from the events of its file."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mbench.errors import MbenchError
from mbench.results.training import ExactAnswers, FirstLosses, TrainedSeed, TrainingTask

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.results.records import Run
    from mbench.results.training import LossPath, SeedRun

__all__ = ["Arm", "Record", "record_of", "task_of"]


@dataclass(frozen=True, kw_only=True)
class Arm:
    """A framework of the run, and how it computes."""

    label: str
    framework: str
    """The framework's own spelling of its name."""
    version: str = ""
    precision: str
    compiler: str
    device: str
    threads: int
    ended: str = ""
    """Why the framework could not go on; empty if it did."""
    differences: list[str] = field(default_factory=list)
    """What the framework does its own way."""


@dataclass(kw_only=True)
class Record:
    """The task and, by framework label, the answers, first losses and complete seeds."""

    id: str
    task: Mapping[str, Any]
    """The whole task, as plain data."""
    task_digest: str
    data_digest: str
    seeds: int
    """Number of seeds requested."""
    seeds_at_first: int = 0
    """Number requested when the run began; 0: the same."""
    machine: str
    arms: list[Arm]
    """The first is the baseline."""
    answers: dict[str, ExactAnswers] = field(default_factory=dict)
    paths: dict[str, LossPath] = field(default_factory=dict)
    runs: dict[str, dict[int, SeedRun]] = field(default_factory=dict)


def task_of(run: Run) -> TrainingTask:
    """Raises MbenchError for a run that is not a training run."""
    for event in run.more:
        if isinstance(event, TrainingTask):
            return event
    raise MbenchError(f"{run.id} is not a training run, or it ended before training began")


def record_of(run: Run) -> Record:
    """Raises MbenchError for a run that is not a training run."""
    task = task_of(run)
    cases = [run.cases[number] for number in sorted(run.cases)]
    labels = {case.planned.case: case.planned.label for case in cases}
    differences: dict[int, list[str]] = {}
    found = Record(
        id=run.id, task=task.task, task_digest=task.task_digest, data_digest=task.data_digest,
        seeds=run.protocol.processes, seeds_at_first=run.header.protocol.processes,
        machine=run.header.system.cpu, arms=[], runs=defaultdict(dict),
    )  # fmt: skip
    for event in run.more:
        if isinstance(event, ExactAnswers):
            found.answers[labels[event.case]] = event
        elif isinstance(event, FirstLosses):
            found.paths[labels[event.case]] = event
            differences[event.case] = event.differences
        elif isinstance(event, TrainedSeed):
            found.runs[labels[event.case]][event.seed] = event
    for case in cases:
        number, axes, end = case.planned.case, case.axes, case.outcome
        found.arms.append(
            Arm(
                label=labels[number], framework=case.planned.framework_title,
                version=case.info.version if case.info else "",
                precision=axes.precision, compiler=axes.compiler, device=axes.device,
                threads=axes.threads, ended=f"{end.outcome}: {end.reason}" if end else "",
                differences=differences.get(number, []),
            )
        )  # fmt: skip
    return found
