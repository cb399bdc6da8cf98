"""What is measured to explain a comparison: the whole step, an empty step, each operator, the
phases of a training step, and the model with each of its stages twice as long.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mbench.console import counted
from mbench.contract.quantities import Count, Number
from mbench.errors import UsageError, about
from mbench.results.events import Event
from mbench.scenarios.find import in_mode, resolve, scenario_of
from mbench.spec.adaptive import Adaptive
from mbench.spec.operators import operator_counts
from mbench.spec.planning import Comparison, supports
from mbench.workloads.find import LONGER, operator_case

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mbench.contract.case import Case
    from mbench.spec.protocol import Protocol

__all__ = ["CALLS", "EMPTY", "KINDS", "PROTOCOL", "Breakdown", "Part", "PartCount", "Plan", "bare",
           "check_protocol", "phases", "plan_breakdown", "stage_of"]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class PartCount:
    """How often a part counts in the whole step."""

    comparison: Number
    """Number of the part's comparison."""
    count: Count
    """For an operator, how often the whole step calls it; else 1."""


@dataclass(frozen=True, kw_only=True)
class Breakdown(Event):
    """Once, before the comparisons of a run of `mbench explain`."""

    whole: Number
    """Number of the comparison of whole steps."""
    parts: list[PartCount]
    """All other comparisons of the run."""


KINDS = (Breakdown,)


PROTOCOL = "explain"
"""The name of its preset."""
CALLS = 4
"""Calls of an operator in the step that measures it. The cost of a step beside its calls is
measured by an empty step, and weighs little against four of them."""
EMPTY = "op:add/1x1"
"""The step without work: one call on one number."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """A comparison of a part of the step, which counts `count` times in the whole step."""

    comparison: Comparison
    count: int = 1


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One comparison and its parts, which are all measured in the same processes."""

    whole: Comparison
    parts: tuple[Part, ...]

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        return (self.whole, *(part.comparison for part in self.parts))

    @property
    def event(self) -> Breakdown:
        """As it is written into the run."""
        counts = [PartCount(comparison=part.comparison.number, count=part.count)
                  for part in self.parts]  # fmt: skip
        return Breakdown(whole=self.whole.number, parts=counts)


def check_protocol(protocol: Protocol) -> None:
    """Raises UsageError for a protocol that does not measure a fixed number of sets."""
    if not isinstance(protocol, Adaptive) or protocol.stops_by_width or protocol.builds != 1:
        raise UsageError(
            "explain measures a fixed number of sets: give --processes instead of --until, "
            "--rigorous or --builds"
        )


def plan_breakdown(whole: Comparison) -> Plan:
    """Raises UsageError where it is not known which operators the model has, or where a batch size
    or a compiler is still to be searched for.
    """
    if not whole.settled:
        raise UsageError("explain does not search for a batch size or a compiler: name them")
    comparison, first = whole.number, whole.entries[-1].number + 1
    parts = []
    for title, count, cases in wanted(whole):
        comparison += 1
        entries = [
            replace(entry, number=number, case=case, support=supports(entry.adapter, case))
            for number, (entry, case) in enumerate(
                zip(whole.entries, cases, strict=True), start=first
            )
        ]
        first += len(entries)
        part = Comparison(number=comparison, title=title, entries=tuple(entries))
        parts.append(Part(comparison=part, count=count))
    return Plan(whole=whole, parts=tuple(parts))


def wanted(whole: Comparison) -> Iterator[tuple[str, int, list[Case]]]:
    """Of each part its title, its count, and the case of each entry of `whole`."""
    cases = [entry.case for entry in whole.entries]
    case = cases[0]
    yield "an empty step", 1, [operator_case(one, EMPTY) for one in cases]
    scenario = scenario_of(case)
    with about("--models"):
        operators = operator_counts(
            resolve(case), batch_size=case.batch_size, training=scenario.training
        )
    for name, count in operators.items():
        title = f"{name} ({counted(count, 'time')})"
        yield title, count, [operator_case(one, name, calls=CALLS) for one in cases]
    if scenario.updates:
        *less, _ = phases(bare(case), case)
        for name in less:
            yield f"{whole.title}, up to {name}", 1, [phases(bare(one), one)[name] for one in cases]
    for stage, model in resolve(case).lengthened().items():
        yield f"{whole.title}, {stage} twice", 1, [replace(one, model=model.name) for one in cases]


def phases(least: Case, whole: Case) -> dict[str, Case]:
    """The steps that a training step grows through, each named by the phase that it adds to the
    one before: a forward pass, with a backward pass, with the update, with clipping, with dropout.

    The last is `whole`; `least` is that without clipping and dropout, as far as it has them.
    """
    found = {
        "forward": in_mode(least, "forward"),
        "backward": in_mode(least, "backward"),
        "update": least,
    }
    for name, field in (("clipping", "clip"), ("dropout", "dropout")):
        if getattr(least, field) != getattr(whole, field):
            last = list(found.values())[-1]
            found[name] = replace(last, **{field: getattr(whole, field)})
    return found


def bare(case: Case) -> Case:
    """`case` without clipping and dropout, where it has them."""
    workload = resolve(case)
    clips = workload.optimizer.clip_norm is not None
    drops = workload.config != workload.config.without_dropout()
    return replace(case, clip=case.clip and not clips, dropout=case.dropout and not drops)


def stage_of(model: str, whole: str) -> str:
    """The stage that is twice as long in `model` as in the model `whole`; empty where none is."""
    name, _, stage = model.partition(LONGER)
    return stage if name == whole else ""
