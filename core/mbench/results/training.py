"""What a training run writes down: its task, what shows that steps are the same, and its seeds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mbench.contract.quantities import Count, Number, Seconds
from mbench.results.event_base import Event, OfCase

__all__ = ["KINDS", "Answers", "Evaluation", "ExactAnswers", "FirstLosses", "LossPath", "SeedRun",
           "TrainedSeed", "TrainingTask"]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Answers:
    """What is left in float64 after a few steps of a squeezed schedule: sketches of the changes of
    all tensors, and of the logits of held-out data in inference mode, before and after.
    """

    losses: list[float | None] = field(default_factory=list)
    """Of each of these steps; None where it is not finite."""
    changes: dict[str, list[float]] = field(default_factory=dict)
    """By tensor."""
    logits: list[list[float]] = field(default_factory=list)
    """Before and after training."""
    path: list[float | None] = field(default_factory=list)
    """Losses of the first steps of the schedule as it is."""
    lack: str = ""
    """Why it has no float64 here; empty where it has."""


@dataclass(frozen=True, kw_only=True)
class LossPath:
    """Losses of the first steps as they are timed; None where one is not finite."""

    losses: list[float | None]
    """From the canonical start,"""
    nudged: list[list[float | None]]
    """and from some that are a unit in the last place away."""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """After so many steps: held-out data in inference mode."""

    step: Count
    """Steps before it."""
    accuracy: float
    """Share of labels that are predicted."""
    loss: float | None
    """Mean; None where it is not finite."""
    seconds: Seconds
    """What it took."""


@dataclass(frozen=True, kw_only=True)
class SeedRun:
    """One training run of one framework."""

    seed: Number
    """Of the start and of the order of batches."""
    losses: list[float | None]
    """Of each step; None where it is not finite."""
    evaluations: list[Evaluation]
    """One after the other."""
    step_seconds: list[Seconds]
    """Of all steps between two evaluations."""
    setup_seconds: Seconds
    """Of building the model and compiling."""


@dataclass(frozen=True, kw_only=True)
class TrainingTask(Event):
    """Once, before the frameworks of a training run."""

    task: dict[str, Any]
    """All of the task, as it was read."""
    task_digest: str
    """Of all that the task asks for."""
    data_digest: str
    """Of the arrays that are trained and evaluated on."""


@dataclass(frozen=True, kw_only=True)
class ExactAnswers(Answers, OfCase):
    """Once for each framework of a training run, after its first steps in float64."""

    rounding: float = 0.0
    """The largest relative difference that a start a unit in the last place away makes to them."""


@dataclass(frozen=True, kw_only=True)
class FirstLosses(LossPath, OfCase):
    """After `exact_answers`, of the first steps as they are timed."""

    differences: list[str] = field(default_factory=list)
    """What the framework does its own way."""


@dataclass(frozen=True, kw_only=True)
class TrainedSeed(SeedRun, OfCase):
    """When a framework has trained a seed to its end."""


KINDS = (TrainingTask, ExactAnswers, FirstLosses, TrainedSeed)
