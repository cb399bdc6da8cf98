"""What there is to say about a run besides its verdicts and figures: values, and each in words.

Remarks are found once, by `remarks`. A report takes those it has room for, by the types of their
values, and writes them in its own way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from mbench.contract.axes import key, name
from mbench.contract.precision import PRECISIONS
from mbench.reports.cases import named_cases, unspoken
from mbench.results.evidence import Rounding
from mbench.results.summary import SearchSummary
from mbench.spec.fixed_steps import Counted
from mbench.stats import PERCENTILES, steps_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from mbench.results.case_summary import CaseSummary, Disturbed, RankTimes
    from mbench.results.facts import AbsenceRecord
    from mbench.results.summary import Summary

__all__ = ["Absences", "Disturbances", "Doubts", "Ended", "FasterThanMemory", "FewerThreads",
           "Inherited", "Integers",
           "MissingPercentiles", "OwnWays", "Pythons", "Remark", "Scaling", "Severity", "of_kind",
           "remarks"]  # fmt: skip


INTEGERS = "integers"
"""Name of the check of a proof that looks at integers."""


class Severity(Enum):
    """How much a remark matters to the reader of a verdict."""

    NOTE = "note"
    WARNING = "warning"
    FAILURE = "failure"


@dataclass(frozen=True)
class MissingPercentiles:
    """Percentiles that need more steps than were timed one by one."""

    needed: Mapping[str, int]
    """Steps that each percentile needs, by its name, such as p99."""
    fewest: int
    most: int
    """Fewest and most steps that cases have."""
    in_epoch: bool
    """Whether these are the steps of one epoch."""


@dataclass(frozen=True)
class Ended:
    """Why cases were not measured."""

    outcome: str
    reason: str


@dataclass(frozen=True)
class Scaling:
    """A case on several devices compared with the same one on one device."""

    scale: str
    devices: int
    global_batch_size: int
    speed_up: float | None
    """Throughput divided by that of one device; None if that was not measured."""
    low: float | None
    high: float | None
    ranks: RankTimes | None


@dataclass(frozen=True)
class Doubts:
    """Reasons to doubt the work of a case as it was timed."""

    texts: Sequence[str]


@dataclass(frozen=True)
class Disturbances:
    """What disturbed cases, all of one kind and on one machine."""

    found: Sequence[Disturbed]


@dataclass(frozen=True)
class Absences:
    """Times at which mbench, a worker or the machine was stopped or suspended."""

    found: Sequence[AbsenceRecord]


@dataclass(frozen=True)
class FasterThanMemory:
    """Operators whose bytes cannot have come from memory."""

    count: int
    of: int


@dataclass(frozen=True)
class OwnWays:
    """What frameworks do their own way."""

    texts: Sequence[str]


@dataclass(frozen=True)
class Integers:
    """What is compared if a case multiplies integers."""

    precisions: tuple[str, str]
    """Precisions of the baseline and of the other."""
    same: bool | None
    """Whether linear layers of both multiply by the core's integers; None if it was not checked."""


@dataclass(frozen=True)
class FewerThreads:
    """Cases with fewer threads than the machine has cores, although nobody asked for that."""

    threads: int
    because: str
    """What decided that."""


@dataclass(frozen=True)
class Pythons:
    """The version of each framework's Python, if their minor versions differ."""

    versions: Mapping[str, str]


@dataclass(frozen=True)
class Inherited:
    """Variables that workers inherited."""

    variables: Mapping[str, str]


Value: TypeAlias = (
    MissingPercentiles | Ended | Scaling | Doubts | Rounding | Disturbances | FasterThanMemory
    | Absences | OwnWays | Integers | FewerThreads | Pythons | Inherited | SearchSummary | Counted
)  # fmt: skip


@dataclass(frozen=True)
class Remark:
    """Something to say; the type of its value is its kind."""

    severity: Severity
    subject: tuple[str, ...]
    """The cases that it is about, as reports name them; empty if it is about the whole run."""
    value: Value


def remarks(summary: Summary) -> list[Remark]:
    """All remarks, in the order in which reports write them."""
    find: Sequence[Callable[[Summary], Iterable[Remark]]] = (
        missing_percentiles, ended, scaling, doubts, rounding, disturbances, absences,
        faster_than_memory, fewer_threads, pythons, integers, own_ways, inherited, searches,
        published_protocol,
    )  # fmt: skip
    return [remark for found in find for remark in found(summary)]


def of_kind(found: Iterable[Remark], *kinds: type[Value]) -> list[Remark]:
    return [remark for remark in found if isinstance(remark.value, kinds)]


def missing_percentiles(summary: Summary) -> Iterator[Remark]:
    """Percentiles that some case has too few steps for."""
    times = [case.step_time_ms for case in summary.cases]
    counts = [one.fewest for one in times if one and one.samples]
    needed = {f"p{rank:g}": steps_for(rank) for rank in PERCENTILES}
    few = [count for count in counts if count < max(needed.values())]
    if few:
        missing = {rank: count for rank, count in needed.items() if count > min(few)}
        in_epoch = summary.protocol.percentiles_by_epoch
        yield Remark(Severity.NOTE, (), MissingPercentiles(missing, min(few), max(few), in_epoch))


def ended(summary: Summary) -> Iterator[Remark]:
    """Cases that were not measured, except those that a comparison names as its reason."""
    named = {pair.ended for pair in summary.comparisons}
    found: dict[Ended, list[str]] = {}
    for at, (who, case) in enumerate(named_cases(summary)):
        if case.outcome != "ok" and at not in named:
            found.setdefault(Ended(case.outcome, case.reason), []).append(who)
    for value, cases in found.items():
        yield Remark(Severity.FAILURE, tuple(cases), value)


def scaling(summary: Summary) -> Iterator[Remark]:
    """A remark for each measured case on several devices."""
    less = {"scale", *unspoken(summary.cases)}
    for case in summary.cases:
        if case.devices > 1 and case.throughput:
            who = f"{case.label}, {name(case.axes, less=less)}"
            yield Remark(Severity.NOTE, (who,), scaled(summary, case))


def scaled(summary: Summary, case: CaseSummary) -> Scaling:
    """Compares a case with the first one on one device that is otherwise the same."""
    ratio = low = high = None
    identity = (case.label, key(case.axes, less={"scale"}))
    for alone in summary.cases:
        same = alone.devices == 1 and (alone.label, key(alone.axes, less={"scale"})) == identity
        if same and (base := alone.throughput) and (speed := case.throughput):
            ratio = speed.value / base.value
            if speed.low and speed.high and base.low and base.high:
                # Measured one after the other: errors are independent, and add up in quadrature.
                ends = (math.log(speed.high / speed.low) / 2, math.log(base.high / base.low) / 2)
                width = math.exp(math.hypot(*ends))
                low, high = ratio / width, ratio * width
            break
    return Scaling(case.axes.scale, case.devices, case.global_batch_size, ratio, low, high,
                   case.ranks)  # fmt: skip


def doubts(summary: Summary) -> Iterator[Remark]:
    for who, case in named_cases(summary):
        if case.doubts:
            yield Remark(Severity.WARNING, (who,), Doubts(case.doubts))


def rounding(summary: Summary) -> Iterator[Remark]:
    """How much rounding alone changes the results of cases, if that had to be measured."""
    for who, case in named_cases(summary):
        if case.rounding:
            yield Remark(Severity.NOTE, (who,), case.rounding)


def disturbances(summary: Summary) -> Iterator[Remark]:
    """A remark for each kind of disturbance on a machine, with all cases that it disturbed."""
    found: dict[tuple[str, str], list[tuple[str, Disturbed]]] = {}
    for who, case in named_cases(summary):
        for one in case.disturbances:
            found.setdefault((one.host, one.says), []).append((who, one))
    for alike in found.values():
        cases = tuple(dict.fromkeys(who for who, _ in alike))
        yield Remark(Severity.WARNING, cases, Disturbances([one for _, one in alike]))


def absences(summary: Summary) -> Iterator[Remark]:
    """All absences in one remark."""
    if summary.absences:
        yield Remark(Severity.WARNING, (), Absences(summary.absences))


def faster_than_memory(summary: Summary) -> Iterator[Remark]:
    found = [case.operator for case in summary.cases if case.operator]
    beyond = sum(one.limit == "memory" and (one.roofline or 0.0) > 1 for one in found)
    if beyond:
        yield Remark(Severity.NOTE, (), FasterThanMemory(beyond, len(found)))


def fewer_threads(summary: Summary) -> Iterator[Remark]:
    system = summary.system
    fewer = system.default_threads < (system.physical_cores or 0)
    here = [case for case in summary.cases if not case.nodes]
    if fewer and any(case.axes.threads == system.default_threads for case in here):
        value = FewerThreads(system.default_threads, system.threads_because)
        yield Remark(Severity.NOTE, (), value)


def pythons(summary: Summary) -> Iterator[Remark]:
    found = {c.label: c.environment.python_version for c in summary.cases if c.environment}
    if len({tuple(version.split(".")[:2]) for version in found.values()}) > 1:
        yield Remark(Severity.NOTE, (), Pythons(found))


def integers(summary: Summary) -> Iterator[Remark]:
    """A remark for each pair of precisions that has a quantized one, with the labels."""
    found: dict[Integers, dict[str, None]] = {}
    for pair in summary.comparisons:
        both = [summary.cases[at] for at in pair.cases]
        named = (both[0].axes.precision, both[1].axes.precision)
        if any(PRECISIONS[one].quantized for one in named if one in PRECISIONS):
            known = [given_integers(case) for case in both]
            same = None if None in known else all(known)
            labels = found.setdefault(Integers(named, same), {})
            labels.update(dict.fromkeys(case.label for case in both))
    for value, labels in found.items():
        yield Remark(Severity.NOTE, tuple(labels), value)


def given_integers(case: CaseSummary) -> bool | None:
    """Whether a case's proof found the core's integers; None if there is no such check."""
    proof = case.equal_work
    made = [one.passed for one in proof.findings if one.check == INTEGERS] if proof else []
    return all(made) if made else None


def own_ways(summary: Summary) -> Iterator[Remark]:
    """A remark for each set of differences, with the labels that have it."""
    found: dict[tuple[str, ...], dict[str, None]] = {}
    for case in summary.cases:
        if case.differences:
            found.setdefault(tuple(case.differences), {})[case.label] = None
    for texts, labels in found.items():
        yield Remark(Severity.NOTE, tuple(labels), OwnWays(texts))


def inherited(summary: Summary) -> Iterator[Remark]:
    if variables := summary.system.variables:
        yield Remark(Severity.NOTE, (), Inherited(variables))


def searches(summary: Summary) -> Iterator[Remark]:
    for search in summary.searches:
        yield Remark(Severity.NOTE, (search.comparison, search.label), search)


def published_protocol(summary: Summary) -> Iterator[Remark]:
    """How a published protocol measured; mbench's own is not mentioned."""
    if isinstance(summary.protocol, Counted):
        yield Remark(Severity.NOTE, (), summary.protocol)
