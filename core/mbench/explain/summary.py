"""The summary of a breakdown: in which parts of a step two frameworks differ."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.explain.kernels import StepKernels
    from mbench.results.encoding import Json

__all__ = ["CaseState", "Difference", "Explanation", "Interval", "MissingPart", "Pair", "Row"]


@dataclass(frozen=True)
class Interval:
    """A difference in milliseconds; without ends where there are too few sets."""

    value: float
    low: float | None
    high: float | None
    shown: bool
    """Whether the interval excludes 0."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A part of the step in the two frameworks."""

    name: str
    times: int | None = None
    """How often the step calls it; None where that is not counted."""
    baseline_ms: float
    other_ms: float
    difference_ms: Interval

    def to_json(self, *, key: str = "") -> dict[str, Json]:
        """`key` is what the name is called; without one the row has none."""
        body = asdict(self)
        name, times = body.pop("name"), body.pop("times")
        return {
            **({key: name} if key else {}),
            **({} if times is None else {"times": times}),
            **body,
        }


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two frameworks; no more is known of them where no set has all parts of both."""

    baseline: str
    framework: str
    sets: int = 0

    def to_json(self) -> dict[str, Json]:
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Difference(Pair):
    """How much longer a step of `framework` takes than one of `baseline`, and in which parts."""

    step: Row
    empty: Row
    phases: Sequence[Row]
    """By what each adds to those before it; empty where not all were measured."""
    stages: Sequence[Row]
    """By what the model takes longer with that stage twice; empty where not all were measured."""
    rest: Row | None
    """The step outside its stages; None where there are none."""
    kinds: Sequence[Row]
    """The operators, added up by kind."""
    operators: Sequence[Row]
    residual: Row
    """The step less an empty step and all operators; negative where operators are faster fused."""
    only_in_one: Sequence[str]
    """Operators that were measured in one of the two only."""

    @property
    def depth(self) -> list[Row]:
        """The stages and the rest, which add up to the step."""
        return [*self.stages, *([self.rest] if self.rest else [])]

    def to_json(self) -> dict[str, Json]:
        return {
            "baseline": self.baseline,
            "framework": self.framework,
            "sets": self.sets,
            **self.step.to_json(),
            "empty": self.empty.to_json(),
            "phases": [row.to_json(key="phase") for row in self.phases],
            "stages": [row.to_json(key="stage") for row in self.stages],
            "rest": None if self.rest is None else self.rest.to_json(),
            "kinds": [row.to_json(key="kind") for row in self.kinds],
            "operators": [row.to_json(key="operator") for row in self.operators],
            "residual": self.residual.to_json(),
            "only_in_one": list(self.only_in_one),
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
    """A part that a framework could not be measured in, and why."""

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
    """The stages that the model was measured with twice."""
    missing: Sequence[MissingPart]
    differences: Sequence[Pair]
    kernels: Sequence[StepKernels] = ()
    """Of each framework, where they were asked for."""

    def to_json(self) -> dict[str, Json]:
        return {
            **{name: getattr(self, name) for name in ("schema", "run", "status", "comparison")},
            "cases": [asdict(case) for case in self.cases],
            "lengthened": list(self.lengthened),
            "missing": [asdict(part) for part in self.missing],
            "differences": [pair.to_json() for pair in self.differences],
            "kernels": [one.to_json() for one in self.kernels],
        }
