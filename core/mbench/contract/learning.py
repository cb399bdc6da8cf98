"""What a learning run agrees on: its lesson, how the learning rate changes, and its messages.

A lesson is what a worker needs to know of a task (see `mbench.learning.task`): what is trained, on
what, and how. Only the parent knows the target and the margins.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from mbench.contract.case import Case  # noqa: TC001 (read by annotations)
from mbench.contract.reading import Malformed
from mbench.contract.workload import Optimizer  # noqa: TC001 (read by annotations)

__all__ = [
    "CONSTANT",
    "COSINE",
    "EXACT_STEPS",
    "LINEAR",
    "SHAPES",
    "STEP",
    "EvaluateModel",
    "Evaluated",
    "Learn",
    "Learnt",
    "Lesson",
    "PrepareLesson",
    "Schedule",
    "SketchTensors",
    "Sketches",
]  # fmt: skip

CONSTANT, COSINE, LINEAR, STEP = "constant", "cosine", "linear", "step"
EXACT_STEPS = 20
"""Steps in float64 that are compared with a reference."""
SHAPES = (CONSTANT, COSINE, LINEAR, STEP)


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """How the learning rate changes, in shares of all steps, so that it can be squeezed.

    `warmup`: a linear rise; if it takes n steps, the first has 1 / n of the rate. After it,
    "constant"; "linear" and "cosine" fall to `final` times the rate, which the step after the last
    one would have; "step" multiplies by `factor` at each of `milestones`.
    """

    shape: str = CONSTANT
    warmup: float = 0.0
    milestones: list[float] = field(default_factory=list)
    factor: float = 0.1
    final: float = 0.0

    def rate(self, step: int, steps: int) -> float:
        """The factor on the base rate in step `step`, counted from 0, of `steps`."""
        rising = round(self.warmup * steps)
        if step < rising:
            return (step + 1) / rising
        if self.shape == STEP:
            passed = sum(step >= round(share * steps) for share in self.milestones)
            return float(self.factor**passed)
        done = (step - rising) / max(1, steps - rising)
        if self.shape == COSINE:
            return self.final + (1 - self.final) * (1 + math.cos(math.pi * done)) / 2
        if self.shape == LINEAR:
            return self.final + (1 - self.final) * (1 - done)
        return 1.0


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """What is trained, on what, and how."""

    batch_size: int
    steps: int
    optimizer: Optimizer
    schedule: Schedule
    config: dict[str, int | float] = field(default_factory=dict)
    """Dimensions that replace the model's own."""
    inputs: str = "images"
    """What the model calls its input: "images" (B, C, H, W); "features", the same flattened;
    "input_ids" (B, L)."""
    classes: int = 0
    """Number of classes of images; 0 for tokens."""
    sequence_length: int = 0
    """Length in tokens; 0 for images."""
    center: float = 0.0
    spread: float = 1.0
    """A pixel x of 0 to 255 becomes (x - center) / spread."""
    shift: int = 0
    """Augmentation: the most pixels by which an image is shifted in each direction."""
    flip: bool = False
    """Augmentation: whether half of the images are mirrored, chosen at random."""
    smoothing: float = 0.0
    """Label smoothing: the share of a label that is spread evenly over all classes."""
    mixup: float = 0.0
    """Mixup (Zhang et al. 2018): alpha of the distribution of shares; 0: no mixup."""
    predictions: int = 0
    """Masked tokens of each sequence, which a model with two heads predicts, together with whether
    the second segment follows the first; 0: it predicts the token after each token."""
    examples: int = 0
    """How many examples are trained on, from the first on; 0: all."""
    proof_batch: int = 0
    """Batch size in the first two layers (see learning/judge.py), if the task's own takes too long;
    0: its own."""
    proof_steps: int = 0
    """Maximum steps in the second layer; 0: as many as usual."""
    proof_config: dict[str, int | float] = field(default_factory=dict)
    """Dimensions of the model that differ in the first two layers."""

    def reduced(self) -> Lesson:
        """The lesson at the sizes of the first two layers; the learning rate shrinks in proportion
        to the batch (Goyal et al. 2017).
        """
        size = self.proof_batch or self.batch_size
        base = self.optimizer.learning_rate
        optimizer = replace(self.optimizer, learning_rate=base * size / self.batch_size)
        config = {**self.config, **self.proof_config}
        return replace(
            self, batch_size=size, optimizer=optimizer, config=config,
            sequence_length=int(config.get("sequence_length", self.sequence_length)),
            predictions=int(config.get("predictions", self.predictions)),
        )  # fmt: skip

    def squeezed(self) -> Lesson:
        """The reduced lesson in EXACT_STEPS steps: with the whole schedule, and more than one
        epoch, the first of which ends in the middle of a batch.
        """
        lesson = self.reduced()
        few = lesson.batch_size * (EXACT_STEPS // 2) + lesson.batch_size // 2
        return replace(lesson, steps=EXACT_STEPS, examples=few)

    def rates(self, steps: int | None = None) -> list[float]:
        """The learning rate of each step, for `steps` instead of all steps by the same schedule."""
        count = self.steps if steps is None else steps
        base = self.optimizer.learning_rate
        return [base * self.schedule.rate(step, count) for step in range(count)]

    @property
    def logits(self) -> str:
        """The output that is evaluated on held-out data."""
        return "mlm_logits" if self.predictions else "logits"

    @property
    def soft(self) -> bool:
        """Whether labels are shares of classes (B, K), not their numbers (B,)."""
        return bool(self.smoothing or self.mixup)


@dataclass(frozen=True, kw_only=True)
class PrepareLesson:
    """Build the case's model twice, to train it and to evaluate it, and load the start that belongs
    to `seed`; answered by Prepared.

    `data` is the folder with the data's arrays. `steps` is the length of the schedule. With
    `nudged`, every starting value is a unit in the last place larger or smaller; its number selects
    which way each goes; 0: none is changed.
    """

    case: Case
    lesson: Lesson
    data: str
    seed: int
    steps: int
    nudged: int = 0


@dataclass(frozen=True, kw_only=True)
class Learn:
    """Run the next `count` steps; answered by Learnt."""

    count: int


@dataclass(frozen=True, kw_only=True)
class Learnt:
    """The loss of each step, None if it is not finite, and how long the steps took: to hand over
    their batches and to run, but not to read the losses. Drawing the batches is not included
    either, unless an input pipeline reads them.
    """

    losses: list[float | None]
    nanoseconds: int

    def __post_init__(self) -> None:
        if self.nanoseconds <= 0:
            raise Malformed("Learnt.nanoseconds should be a duration, above 0")


@dataclass(frozen=True, kw_only=True)
class EvaluateModel:
    """Evaluate the model in its present state on the first `examples` of the held-out data, in
    inference mode; 0: on all. Answered by Evaluated.
    """

    examples: int = 0


@dataclass(frozen=True, kw_only=True)
class Evaluated:
    """How many of the labels were predicted correctly, and the mean loss, None if it is not finite.
    `logits` is a sketch of the first batch's logits (see contract/sketch.py).
    """

    correct: int
    labels: int
    loss: float | None
    nanoseconds: int
    logits: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not 0 <= self.correct <= self.labels or self.nanoseconds <= 0:
            raise Malformed("Evaluated should have 0 to all labels correct, and a duration above 0")


@dataclass(frozen=True, kw_only=True)
class SketchTensors:
    """Ask how far all tensors have moved from their start; answered by Sketches."""


@dataclass(frozen=True, kw_only=True)
class Sketches:
    """Sketches of the change of each tensor since the canonical start of the seed, by name."""

    changes: dict[str, list[float]]
