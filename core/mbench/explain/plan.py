"""What is measured to explain a comparison: the whole step, an empty step, each operator, the
phases of a training step, and the model with each of its stages twice as long.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from mbench.console import counted, span
from mbench.contract.forms import LONGER, form_of, longer_by
from mbench.contract.quantities import Count, Number
from mbench.errors import UsageError, about
from mbench.results.events import Event
from mbench.scenarios.find import for_operators, in_mode, resident, resolve, scenario_of
from mbench.spec.adaptive import Adaptive
from mbench.spec.operators import operator_counts
from mbench.spec.planning import Comparison, supports
from mbench.stats import FEWEST
from mbench.workloads.find import operator_case
from mbench.workloads.operators.operator import PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mbench.contract.case import Case
    from mbench.contract.forms import Form
    from mbench.spec.protocol import Protocol

__all__ = ["CALLS", "EMPTY", "FEWEST_SETS", "KINDS", "PROTOCOL", "Breakdown", "Part", "PartCount",
           "Plan", "bare", "check_budget", "check_protocol", "form_in", "is_check", "is_operator",
           "phases", "plan_breakdown"]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class PartCount:
    """How often a part counts in the whole step."""

    comparison: Number
    """Number of the part's comparison."""
    count: Count
    """For an operator, how often the whole step calls it; else 1."""
    model: str
    """That of its cases: the operator's name, or that of a form of the model."""
    stages: dict[str, Count] = field(default_factory=dict)
    """For an operator, how often the blocks that make a stage twice as long call it."""


@dataclass(frozen=True, kw_only=True)
class Breakdown(Event):
    """Once, before the comparisons of a run of `mbench explain`."""

    whole: Number
    """Number of the comparison of whole steps."""
    parts: list[PartCount]
    """All other comparisons of the run."""


KINDS = (Breakdown,)
FEWEST_SETS = FEWEST
"""Fewest sets of processes for anything measured: fewer give no interval."""

PROTOCOL = "explain"
"""The name of the protocol preset of `mbench explain`."""
CALLS = 4
"""Calls of an operator in the step that measures it. The cost of a step besides its calls is
measured by an empty step, and is small compared with four calls."""
EMPTY = "op:add/1x1"
"""The step without work: one call on one number."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """A comparison of a part that counts `count` times in the whole step."""

    comparison: Comparison
    count: int = 1
    stages: Mapping[str, int] = field(default_factory=dict)
    """By stage, an operator's calls in the blocks that make that stage twice as long."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One comparison and its parts, all measured in the same processes."""

    whole: Comparison
    parts: tuple[Part, ...]

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        return (self.whole, *(part.comparison for part in self.parts))

    @property
    def coarse(self) -> tuple[Comparison, ...]:
        """The step, its phases and its stages."""
        return tuple(one for one in self.comparisons if not is_operator(one) and not is_check(one))

    @property
    def event(self) -> Breakdown:
        """The plan as recorded in the run."""
        counts = [
            PartCount(
                comparison=part.comparison.number, count=part.count,
                model=part.comparison.entries[0].case.model, stages=dict(part.stages),
            )
            for part in self.parts
        ]  # fmt: skip
        return Breakdown(whole=self.whole.number, parts=counts)


def is_operator(comparison: Comparison) -> bool:
    return comparison.entries[0].case.model.startswith(PREFIX)


def is_check(comparison: Comparison) -> bool:
    """Whether its model has a stage lengthened by only some of its blocks, which shows whether the
    stage's time grows with its length.
    """
    return not form_of(comparison.entries[0].case.model.partition(LONGER)[2]).twice


def check_protocol(protocol: Protocol) -> None:
    """Raises UsageError for a protocol that does not measure a fixed number of sets."""
    if not isinstance(protocol, Adaptive) or protocol.stops_by_width or protocol.builds != 1:
        raise UsageError(
            "explain measures a fixed number of sets: give --processes instead of --until, "
            "--rigorous or --builds"
        )
    if protocol.processes < FEWEST_SETS:
        raise UsageError(
            f"explain needs {FEWEST_SETS} sets of processes for an interval: give --processes "
            f"{FEWEST_SETS} or more",
            option="--processes",
        )


def check_budget(plan: Plan, protocol: Protocol) -> None:
    """Raises UsageError if not even the blocks of three sets of the step, its phases and its stages
    fit the budget.
    """
    assert isinstance(protocol, Adaptive)
    coarse = plan.coarse
    rounds = protocol.rounds or protocol.fewest_rounds
    turns = FEWEST_SETS * rounds * sum(len(one.entries) for one in coarse)
    least = turns * (protocol.block_seconds + protocol.lead_seconds)
    if least > protocol.budget_seconds:
        raise UsageError(
            f"a budget of {span(protocol.budget_seconds)} is too short for {FEWEST_SETS} sets of "
            f"the step and {len(coarse) - 1} phases and stages, whose blocks alone take "
            f"{span(least)}: give --budget {30 * math.ceil(3 * least / 30)}",
            option="--budget",
        )


def plan_breakdown(whole: Comparison) -> Plan:
    """Plan the parts of `whole`. Raises UsageError if the model's operators are unknown, or if a
    batch size or a compiler still has to be searched for.
    """
    if not whole.settled:
        raise UsageError("explain does not search for a batch size or a compiler: specify them")
    comparison, first = whole.number, whole.entries[-1].number + 1
    parts = []
    within = operators_by_stage(whole.entries[0].case)
    for title, count, cases in wanted(whole):
        comparison += 1
        entries = [
            replace(entry, number=number, case=case, support=supports(entry.adapter, case))
            for number, (entry, case) in enumerate(
                zip(whole.entries, cases, strict=True), start=first
            )
        ]
        first += len(entries)
        model = cases[0].model
        part = Comparison(number=comparison, title=title, entries=tuple(entries))
        stages = {stage: calls[model] for stage, calls in within.items() if calls[model]}
        parts.append(Part(comparison=part, count=count, stages=stages))
    return Plan(whole=whole, parts=tuple(parts))


def wanted(whole: Comparison) -> Iterator[tuple[str, int, list[Case]]]:
    """For each part, its title, its count, and a case for each entry of `whole`."""
    cases = [entry.case for entry in whole.entries]
    case, within = cases[0], [for_operators(entry.case) for entry in whole.entries]
    yield "an empty step", 1, [operator_case(one, EMPTY) for one in within]
    scenario = scenario_of(case)
    with about("--models"):
        operators = operator_counts(case)
    for name, count in operators.items():
        title = f"{name} ({counted(count, 'time')})"
        yield title, count, [operator_case(one, name, calls=CALLS) for one in within]
    if scenario.updates:
        *less, _ = phases(bare(case), case)
        for name in less:
            yield f"{whole.title}, up to {name}", 1, [phases(bare(one), one)[name] for one in cases]
    for form, model in resolve(case).lengthened().items():
        title = f"{whole.title}, {longer_by(form)}"
        yield title, 1, [resident(replace(one, model=model.name)) for one in cases]


def operators_by_stage(case: Case) -> dict[str, Counter[str]]:
    """How often the blocks that make a stage twice as long call each operator. An added block is
    like those after the first one of its stage.
    """
    workload, scenario = resolve(case), scenario_of(case)
    own = Counter(scenario.operations(workload, case.batch_size))
    return {
        form: Counter(scenario.operations(longer, case.batch_size)) - own
        for form, longer in workload.lengthened().items()
        if form_of(form).twice
    }


def phases(least: Case, whole: Case) -> dict[str, Case]:
    """The steps that build up a training step, each named by the phase that it adds to the one
    before: a forward pass, then a backward pass, the update, clipping, dropout.

    The last is `whole`; `least` is `whole` without clipping and dropout, where it has them.
    """
    found = {
        "forward": in_mode(least, "forward"),
        "backward": in_mode(least, "backward"),
        "update": least,
    }
    for name, axis in (("clipping", "clip"), ("dropout", "dropout")):
        if getattr(least, axis) != getattr(whole, axis):
            last = list(found.values())[-1]
            found[name] = replace(last, **{axis: getattr(whole, axis)})
    return found


def bare(case: Case) -> Case:
    """`case` without clipping and dropout, if its model has them."""
    workload = resolve(case)
    clips = workload.optimizer.clip_norm is not None
    drops = workload.config != workload.config.without_dropout()
    return replace(case, clip=case.clip and not clips, dropout=case.dropout and not drops)


def form_in(model: str, whole: str) -> Form | None:
    """Which stage is longer in `model` than in the model `whole`; None if none is."""
    name, _, form = model.partition(LONGER)
    return form_of(form) if form and name == whole else None
