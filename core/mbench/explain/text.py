"""An explanation in sentences: how large the difference is, and where it is found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.explain.plan import FEWEST_SETS
from mbench.explain.summary import Difference
from mbench.explain.tables import by_size
from mbench.reports.text import number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mbench.explain.summary import Explanation, Interval, Pair, Row

__all__ = ["answer", "ending", "headline", "levels", "named_run", "notes"]

MOST = 2
"""Parts of a level that its sentence names."""
PHASES = {"forward": "the forward pass", "backward": "the backward pass", "update": "the update"}


def headline(found: Explanation) -> list[str]:
    """The answer, then what was compared."""
    return [*(said for pair in found.differences for said in sentences(pair)), found.comparison]


def sentences(found: Pair) -> Iterator[str]:
    """How large the difference is, and a line for each level that shows where it is."""
    says, sure = answer(found)
    yield f"{says} ({sure})" if isinstance(found, Difference) else f"{says}: {sure}"
    yield from levels(found)


def answer(found: Pair) -> tuple[str, str]:
    """How large the difference is, and how certain that is."""
    base, other = found.baseline, found.framework
    if not isinstance(found, Difference):
        says = f"No answer yet on {other} against {base}"
        return says, f"{found.sets} of the {FEWEST_SETS} sets of processes that an answer needs"
    step, whole = found.step, found.step.difference_ms
    figures = f"{number(step.other_ms)} against {number(step.baseline_ms)} ms"
    if whole.shown:
        value, low, high = sizes(whole)
        more = "more" if whole.value > 0 else "less"
        says = f"{other} needs {value} ms {more} per step than {base}"
        return says, f"{figures}, 95 % interval {low} to {high} ms"
    says = f"No difference shown between {other} and {base}"
    ends = f"up to {number(-whole.low, 3)} ms less or {number(whole.high, 3)} ms more"
    return says, f"{figures} per step; {other} may need {ends}"


def levels(found: Pair) -> Iterator[str]:
    """A line for each level that shows where the difference is."""
    if not isinstance(found, Difference):
        return
    named = {row.name: PHASES.get(row.name, row.name) for row in found.phases}
    yield from located(found, "By phase", found.phases, named)
    stages = {row.name: f"stage {row.name}" for row in found.stages}
    yield from located(found, "By stage", found.depth, stages, level="stages")
    kinds = [*found.kinds, *found.singly]
    yield from located(found, "By operator", kinds, {}, level="operators")


def located(
    found: Difference, title: str, rows: Sequence[Row], names: dict[str, str], *, level: str = ""
) -> Iterator[str]:
    """The parts of a level that show a difference, the largest first."""
    if not rows:
        return
    known = shown(rows)
    if not known:
        yield f"{title}: no part shows a difference"
        return
    whole = found.step.difference_ms
    of_these = whole.shown and not found.overlap(level)
    said: list[str] = []
    for row in known[:MOST]:
        value, low, high = sizes(row.difference_ms)
        along = (row.difference_ms.value > 0) == (whole.value > 0)
        where = names.get(row.name, row.name)
        if of_these and along:
            said.append(f"{value} ms ({low} to {high}) of these are in {where}")
        else:
            more = "more" if row.difference_ms.value > 0 else "less"
            said.append(f"{value} ms ({low} to {high}) {more} in {where}")
    rest = len(known) - MOST
    tail = f", and smaller ones in {rest} more" if rest > 0 else ""
    yield f"{title}: {', '.join(said)}{tail}"


def shown(rows: Iterable[Row]) -> list[Row]:
    """Those whose interval excludes 0, the largest first."""
    return by_size([row for row in rows if row.difference_ms.shown])


def sizes(found: Interval) -> tuple[str, str, str]:
    """The size of a difference and the ends of its interval, without the sign."""
    ends = sorted((abs(found.low), abs(found.high)))
    return number(abs(found.value), 3), number(ends[0], 3), number(ends[1], 3)


def notes(found: Explanation) -> Iterator[str]:
    """What a reader of the tables has to know."""
    known = [pair for pair in found.differences if isinstance(pair, Difference)]
    if not known:
        return
    if any(pair.operators for pair in known):
        yield (
            "Operators were timed one at a time, in processes that also timed the whole step. What "
            "a framework fuses, or does outside its operators, is in the rest."
        )
    if not found.lengthened:
        yield "There are no stages: the model has no variant with a longer stage."
    elif any(pair.stages for pair in known):
        yield (
            "A stage is the additional time of the model with that stage twice as long. What only "
            "its first block has, such as a shortcut, is in the rest."
        )
    yield "The intervals of a table hold together with 95 % confidence (Bonferroni)."


def ending(found: Explanation) -> list[str]:
    """Where and how it was measured, and where to read on."""
    facts = found.context.facts if found.context else []
    more = "Details: mbench explain --format json   Page: mbench explain --format html -o why.html"
    return [*facts, *([more] if found.differences else []), named_run(found)]


def named_run(found: Explanation) -> str:
    return f"Run {found.run}, {found.status}"
