"""What a training run records: its task, what shows that steps are the same, and its seeds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mbench.contract.quantities import Count, Number, Seconds
from mbench.results.event_base import Event, OfCase

__all__ = ["KINDS", "Answers", "Evaluation", "ExactAnswers", "FirstLosses", "LossPath", "SeedRun",
           "TrainedSeed", "TrainingTask"]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Answers:
    """Results in float64 after a few steps of a squeezed schedule: sketches of the changes of all
    tensors, and of the logits of held-out data in inference mode, before and after.
    """

    losses: list[float | None] = field(default_factory=list)
    """Loss of each of these steps; None if it is not finite."""
    changes: dict[str, list[float]] = field(default_factory=dict)
    """Sketches by tensor."""
    logits: list[list[float]] = field(default_factory=list)
    """Before and after training."""
    path: list[float | None] = field(default_factory=list)
    """Losses of the first steps of the schedule, not squeezed."""
    lack: str = ""
    """Why there are no results in float64; empty if there are."""


@dataclass(frozen=True, kw_only=True)
class LossPath:
    """Losses of the first steps as they are timed; None if one is not finite."""

    losses: list[float | None]
    """From the canonical start."""
    nudged: list[list[float | None]]
    """From starts that are a unit in the last place away."""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """An evaluation after some steps: held-out data in inference mode."""

    step: Count
    """Steps before it."""
    accuracy: float
    """Share of labels that are predicted correctly."""
    loss: float | None
    """Mean loss; None if it is not finite."""
    seconds: Seconds
    """How long it took."""


@dataclass(frozen=True, kw_only=True)
class SeedRun:
    """One training run of one framework."""

    seed: Number
    """Seed of the start and of the order of batches."""
    losses: list[float | None]
    """Loss of each step; None if it is not finite."""
    evaluations: list[Evaluation]
    """All evaluations, in order."""
    step_seconds: list[Seconds]
    """Time of all steps between two evaluations."""
    setup_seconds: Seconds
    """Time to build the model and compile it."""


@dataclass(frozen=True, kw_only=True)
class TrainingTask(Event):
    """Once, before the frameworks of a training run."""

    task: dict[str, Any]
    """The whole task, as it was read."""
    task_digest: str
    """Digest of everything that the task asks for."""
    data_digest: str
    """Digest of the arrays that are used for training and evaluation."""


@dataclass(frozen=True, kw_only=True)
class ExactAnswers(Answers, OfCase):
    """Once for each framework of a training run, after its first steps in float64."""

    rounding: float = 0.0
    """The largest relative difference in these results if training starts a unit in the last place
    away."""


@dataclass(frozen=True, kw_only=True)
class FirstLosses(LossPath, OfCase):
    """After `exact_answers`, for the first steps as they are timed."""

    differences: list[str] = field(default_factory=list)
    """What the framework does its own way."""


@dataclass(frozen=True, kw_only=True)
class TrainedSeed(SeedRun, OfCase):
    """When a framework has finished training with a seed."""


KINDS = (TrainingTask, ExactAnswers, FirstLosses, TrainedSeed)
