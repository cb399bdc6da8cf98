"""The summary of a breakdown: in which parts of a step two frameworks differ."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.explain.context import Context
    from mbench.explain.kernels import StepKernels
    from mbench.results.encoding import Json

__all__ = ["Attribution", "CaseState", "Difference", "Explanation", "Interval", "MissingPart",
           "NotAdditive", "Overlap", "Pair", "Row", "StageParts"]  # fmt: skip


@dataclass(frozen=True)
class Interval:
    """A difference in milliseconds, with its interval."""

    value: float
    low: float
    high: float
    shown: bool
    """Whether the interval excludes 0."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A part of the step in the two frameworks."""

    name: str
    times: int | None = None
    """How often the step calls it; None if that is not counted."""
    baseline_ms: float
    other_ms: float
    difference_ms: Interval

    def to_json(self, *, key: str = "") -> dict[str, Json]:
        """`key` is the key for the name; without it the name is left out."""
        body = asdict(self)
        name, times = body.pop("name"), body.pop("times")
        return {
            **({key: name} if key else {}),
            **({} if times is None else {"times": times}),
            **body,
        }


@dataclass(frozen=True, kw_only=True)
class Overlap:
    """Parts that together take longer than a framework's step, so they must overlap in it."""

    framework: str
    level: str
    """Which parts: stages, operators, or operators in a stage."""
    of: str
    """The whole that they are parts of, and take longer than."""
    beyond_ms: Interval
    """How much longer they take; the interval excludes 0."""


@dataclass(frozen=True, kw_only=True)
class NotAdditive:
    """A stage that does not grow in proportion: this method cannot show how long it takes."""

    framework: str
    stage: str
    blocks: int
    """How many of its blocks make it twice as long."""
    added: int
    """How many of these were added to see whether they take as large a share."""
    twice_ms: float
    """How much longer the model takes with all of them."""
    partly_ms: float
    """How much longer it takes with those that were added."""


@dataclass(frozen=True, kw_only=True)
class StageParts:
    """A stage that differs, or the rest of the step, by kind of operator."""

    stage: Row
    kinds: Sequence[Row]
    in_none: Row | None
    """The stage's time beyond its measured operators; None if these overlap."""
    unmeasured: Sequence[str]
    """The stage's other operators, whose time is in `in_none`."""

    def to_json(self) -> dict[str, Json]:
        return {
            "stage": self.stage.name,
            "kinds": [row.to_json(key="kind") for row in self.kinds],
            "in_none": None if self.in_none is None else self.in_none.to_json(),
            "unmeasured": list(self.unmeasured),
        }


@dataclass(frozen=True, kw_only=True)
class Attribution:
    """A part that shows a difference, as the answer names it."""

    part: str
    """A stage, or a kind of operator."""
    stage: bool
    inside: str = ""
    """Where most of the difference is within a stage: a kind of operator, or IN_NONE; empty if that
    is not known."""
    inside_ms: float | None = None
    """How much of the difference is there; None if `inside` is empty."""
    difference_ms: Interval


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two frameworks; nothing more is known if too few sets have the steps of both."""

    baseline: str
    framework: str
    sets: int = 0
    """Sets of processes with the whole steps of both."""

    def to_json(self) -> dict[str, Json]:
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Difference(Pair):
    """How much longer a step of `framework` takes than one of `baseline`, and in which parts.

    Every part has an interval. The parts of a level add up to its row of whole steps, which covers
    the sets of processes that measured the level. What fewer than three sets measured is empty.
    """

    step: Row
    """The whole step, over all sets."""
    input: Row | None = None
    """Waiting for images, over all sets; None if batches stay on the device."""
    phases: Sequence[Row] = ()
    """What each phase adds to those before it."""
    phase_step: Row | None = None
    stages: Sequence[Row] = ()
    """How much longer the model takes with that stage doubled."""
    stage_input: Row | None = None
    """Waiting for images, over the sets that measured stages."""
    rest: Row | None = None
    """The step outside its stages; None if there are none, one is not additive, or they overlap."""
    stage_step: Row | None = None
    within: Sequence[StageParts] = ()
    """The stages that differ, by kind of operator."""
    kinds: Sequence[Row] = ()
    """The operators, added up by kind."""
    operators: Sequence[Row] = ()
    empty: Row | None = None
    operator_input: Row | None = None
    """Waiting for images, over the sets that measured operators."""
    residual: Row | None = None
    """The step less an empty step and all measured operators; None if these overlap."""
    operator_step: Row | None = None
    only_in_one: Sequence[str] = ()
    """Operators that were measured in only one of the two."""
    overlaps: Sequence[Overlap] = ()
    not_additive: Sequence[NotAdditive] = ()
    answer: Sequence[Attribution] = ()
    """The parts that the answer names, the largest first."""
    unattributed: Interval | None = None
    """The difference less the parts in `answer`; None if `answer` is empty, parts overlap, or a
    stage is not additive."""

    @property
    def depth(self) -> list[Row]:
        """The stages and the rest, which add up to the step."""
        return [*self.stages, *(row for row in (self.stage_input, self.rest) if row)]

    @property
    def singly(self) -> list[Row]:
        """The rows besides the operators: an empty step, waiting for images, and the rest."""
        return [row for row in (self.empty, self.operator_input, self.residual) if row]

    def overlap(self, level: str) -> bool:
        """Whether parts of a level overlap in one of the two, so that they are not shares."""
        return any(one.level == level for one in self.overlaps)

    def to_json(self) -> dict[str, Json]:
        def plain(row: Row | None) -> Json:
            return None if row is None else row.to_json()

        return {
            "baseline": self.baseline,
            "framework": self.framework,
            "sets": self.sets,
            **self.step.to_json(),
            "input": plain(self.input),
            "phases": [row.to_json(key="phase") for row in self.phases],
            "phase_step": plain(self.phase_step),
            "stages": [row.to_json(key="stage") for row in self.stages],
            "stage_input": plain(self.stage_input),
            "rest": plain(self.rest),
            "stage_step": plain(self.stage_step),
            "within": [one.to_json() for one in self.within],
            "kinds": [row.to_json(key="kind") for row in self.kinds],
            "operators": [row.to_json(key="operator") for row in self.operators],
            "empty": plain(self.empty),
            "operator_input": plain(self.operator_input),
            "residual": plain(self.residual),
            "operator_step": plain(self.operator_step),
            "only_in_one": list(self.only_in_one),
            "overlaps": [asdict(one) for one in self.overlaps],
            "not_additive": [asdict(one) for one in self.not_additive],
            "answer": [asdict(one) for one in self.answer],
            "unattributed_ms": None if self.unattributed is None else asdict(self.unattributed),
        }


@dataclass(frozen=True, kw_only=True)
class CaseState:
    """The whole step of one framework."""

    label: str
    version: str | None
    compiler: str
    proven: bool
    outcome: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class MissingPart:
    """A part that could not be measured for a framework, and why."""

    label: str
    part: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """The summary of a run of `mbench explain`."""

    schema: int
    run: str
    status: str
    comparison: str
    cases: Sequence[CaseState]
    lengthened: Sequence[str]
    """The stages that were doubled to measure them."""
    missing: Sequence[MissingPart]
    differences: Sequence[Pair]
    left_out: Sequence[str] = ()
    """Operators that the budget had no room for; `--resume` measures them."""
    context: Context | None = None
    """What to know before trusting it: the machine, the proofs, what disturbed it."""
    kernels: Sequence[StepKernels] = ()
    """The kernels of each framework, if they were requested."""

    def to_json(self) -> dict[str, Json]:
        return {
            **{name: getattr(self, name) for name in ("schema", "run", "status", "comparison")},
            "cases": [asdict(case) for case in self.cases],
            "lengthened": list(self.lengthened),
            "missing": [asdict(part) for part in self.missing],
            "left_out": list(self.left_out),
            "differences": [pair.to_json() for pair in self.differences],
            **(self.context.to_json() if self.context else {}),
            "kernels": [one.to_json() for one in self.kernels],
        }
