"""Remarks in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from mbench.console import counted
from mbench.machine.disturbances import describe
from mbench.reports.remarks import (
    Absences,
    Disturbances,
    Doubts,
    Ended,
    FasterThanMemory,
    FewerThreads,
    Inherited,
    Integers,
    MissingPercentiles,
    OwnWays,
    Pythons,
    Scaling,
)
from mbench.reports.text import number
from mbench.results.difference import variables_of
from mbench.results.evidence import Rounding
from mbench.results.facts import said_of_absences
from mbench.results.summary import SearchSummary
from mbench.spec.fixed_steps import Counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mbench.reports.remarks import Remark

__all__ = ["lines", "words"]

WIDE = 0.01
"""The spread of ranks' times from which the slowest rank is named."""


def lines(remarks: Iterable[Remark], *, cases: int = 0) -> list[Text]:
    """A line for each remark; a subject of all of several `cases` is counted, not listed."""
    return [words(remark, cases=cases) for remark in remarks]


def words(remark: Remark, *, cases: int = 0) -> Text:
    who = ", ".join(remark.subject)
    if len(remark.subject) == cases > 2:
        who = f"all {cases} cases"
    match remark.value:
        case MissingPercentiles() as value:
            return Text("; ".join(missing(value)))
        case Ended(outcome, reason):
            return Text.assemble(f"{who}: ", (outcome, "failed"), f": {reason}")
        case Scaling() as value:
            return Text(f"{who}, on {value.scale} devices: {'; '.join(scaling(value))}")
        case Doubts(texts):
            return Text.assemble(("DOUBTFUL", "disturbed"), f", {'; '.join(texts)}")
        case Rounding() as value:
            return Text(f"{who}: {rounding(value)}")
        case Disturbances(found):
            return Text.assemble(("DISTURBED", "disturbed"), f", {who}: {describe(found)}")
        case Absences(found):
            return Text.assemble(("PAUSED", "disturbed"), f", {said_of_absences(found)}")
        case FasterThanMemory(count, of):
            return Text(
                f"{count} of {of} operators are faster than memory: their operands stay in caches "
                "between steps"
            )
        case Integers() as value:
            return Text(f"{who}: {compared(value)}")
        case OwnWays(texts):
            return Text(f"{who}: {'; '.join(texts)}")
        case Pythons(versions):
            each = ", ".join(f"{label} {version}" for label, version in versions.items())
            return Text(f"Pythons differ: {each}")
        case FewerThreads(threads, because):
            return Text(f"{counted(threads, 'thread')}: {because}")
        case Inherited(variables):
            return Text(f"workers inherited {variables_of(variables)}")
        case SearchSummary() as value:
            return Text(f"{': '.join(remark.subject)}: {search(value)}")
        case Counted() as value:
            return Text(protocol(value))


def missing(value: MissingPercentiles) -> Iterator[str]:
    there = (
        f"{value.fewest:,}" if value.fewest == value.most else f"{value.fewest:,} to {value.most:,}"
    )
    where = " in an epoch" if value.in_epoch else ""
    for rank, needed in value.needed.items():
        yield f"{rank} needs {needed:,} steps, but there are only {there}{where}"


def compared(value: Integers) -> str:
    one, other = value.precisions
    what = f"{one} against {other}"
    if one != other:
        return f"{what}: these do not multiply the same numbers"
    if value.same is None:
        return f"{what}; it was not checked whether their integers are the same"
    if not value.same:
        return f"{what}, different integers: these do not multiply the same numbers"
    return f"{what}, same integers; how each rounds activations is listed with its differences"


def scaling(value: Scaling) -> Iterator[str]:
    yield f"global batch {value.global_batch_size}"
    if value.speed_up is not None:
        known = value.low is not None
        ends = f" ({value.low:.3g} .. {value.high:.3g})" if known else ""
        share = value.speed_up / value.devices
        much = f"{value.speed_up:.3g} times as fast as one device{ends}"
        yield f"{much}, {100 * share:.0f} % of the ideal {value.devices}"
    if value.ranks is not None:
        shares = value.ranks.slowest
        at = max(range(len(shares)), key=shares.__getitem__)
        who = f", rank {at} most often ({shares[at]:.0%} of blocks)"
        wide = value.ranks.spread >= WIDE
        yield (f"the slowest rank takes {value.ranks.spread:.1%} longer than the fastest"
               + who * wide)  # fmt: skip


def rounding(value: Rounding) -> str:
    what = f"outputs differ by {100 * value.answers:.2g} %"
    if value.direction:
        what = f"losses differ by {100 * value.answers:.2g} % and updates by "
        what += f"{100 * max(value.direction, value.grid):.2g} %"
    return f"rounding alone may make {what}, so the tolerances of evidence are wider"


def search(value: SearchSummary) -> str:
    """What was tried to find the largest batch or the best compiler, and what came of it."""
    what = "largest batch" if value.what == "batch_size" else "best compiler"
    tried = ", ".join(
        f"{one.value} {one.outcome}" if one.step_seconds is None
        else f"{one.value} {number(one.step_seconds * 1e3, 3)} ms"
        for one in value.tried
    )  # fmt: skip
    said = f"{what} {'none' if value.chosen is None else value.chosen} (tried, step time: {tried})"
    processes = max((len(one.processes) for one in value.tried), default=0)
    if not processes or value.chosen is None:
        return said
    said += f"; chosen by a short trial of {counted(processes, 'fresh process')} each"
    if value.tied:
        are = "was" if len(value.tied) == 1 else "were"
        said += f"; {' and '.join(value.tied)} {are} within its interval"
    return said


def protocol(value: Counted) -> str:
    """How a published protocol measured."""
    said = f"protocol {value.name}: {counted(value.steps_before, 'step')} of warm-up, "
    said += f"then {value.steps}"
    if value.counted_epochs > 1:
        said += f" in each of {value.counted_epochs} epochs"
    if value.duration_seconds is not None:
        said += f" or {number(value.duration_seconds)} s"
    many = f"median of {value.processes} fresh processes" if value.processes > 1 else "one process"
    return f"{said}; {many}; one case after the other"
