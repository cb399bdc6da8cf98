"""An explanation in sentences: how large the difference is, and where it is found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.explain.attribution import by_size
from mbench.explain.plan import FEWEST_SETS
from mbench.explain.stages import IN_NONE
from mbench.explain.summary import Difference
from mbench.reports.text import number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mbench.explain.summary import Attribution, Explanation, Interval, Pair, Row

__all__ = ["answer", "by_phase", "ending", "headline", "named_run", "notes", "where"]

MOST = 2
"""Most phases that a sentence names."""
ALL = 0.2
"""How far an operator's share of its stage's difference may be from 1 and count as all of it."""
PHASES = {"forward": "the forward pass", "backward": "the backward pass", "update": "the update",
          "step": "the step alone"}  # fmt: skip


def headline(found: Explanation) -> list[str]:
    """The answer in one sentence for each pair of frameworks, then what was compared."""
    return [*(said for pair in found.differences for said in sentences(pair)), found.comparison]


def sentences(found: Pair) -> Iterator[str]:
    """How large the difference is, and where; a second one says in which phases."""
    says, sure = answer(found)
    known = isinstance(found, Difference)
    yield f"{says} ({sure}){where(found)}" if known else f"{says}: {sure}"
    yield from by_phase(found)


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
        says = f"{other} needs {value} ms {more_or_less(whole)} per step than {base}"
        return says, f"{low} .. {high}; {figures}"
    says = f"No difference shown between {other} and {base}"
    ends = f"up to {number(-whole.low, 3)} ms less or {number(whole.high, 3)} ms more"
    return says, f"{figures} per step; {other} may need {ends}"


def where(found: Pair) -> str:
    """The end of the answer: the parts that show a difference, and what these leave unexplained."""
    if not isinstance(found, Difference):
        return ""
    curved = dict.fromkeys(one.stage for one in found.not_additive)
    told = [*map(named, found.answer), *(f"stage {name} is not additive here" for name in curved)]
    parts = ", ".join(told) or nowhere(found)
    left = found.unattributed
    if left is not None:
        ends = f"{number(left.low, 3)} .. {number(left.high, 3)}"
        parts += f"; {number(left.value, 3)} ms ({ends}) are not attributed"
    return f": {parts}"


def nowhere(found: Difference) -> str:
    """What to say if no part answers: stages may show nothing although their operators, which are
    measured more precisely, do.
    """
    if not found.stages:
        return "no part shows a difference"
    kinds = [row for row in by_size(found.kinds) if row.difference_ms.shown][:MOST]
    seen = ", ".join(f"{difference(row.difference_ms)} in {row.name}" for row in kinds)
    return f"no stage shows a difference{f', but operators do: {seen}' if seen else ''}"


def by_phase(found: Pair) -> Iterator[str]:
    """The phases that show a difference, if any, in one line."""
    if not isinstance(found, Difference):
        return
    if phases := [row for row in by_size(found.phases) if row.difference_ms.shown][:MOST]:
        yield "By phase: " + ", ".join(map(of_phase, phases))


def of_phase(row: Row) -> str:
    return f"{difference(row.difference_ms)} in {PHASES.get(row.name, row.name)}"


def named(one: Attribution) -> str:
    """ "12 ms more in stage layer3, in none of its operators"."""
    found = one.difference_ms
    said = f"{difference(found)} in " + (f"stage {one.part}" if one.stage else one.part)
    if not one.inside or one.inside_ms is None:
        return said
    where = "none of its operators" if one.inside == IN_NONE else f"its {one.inside}"
    most = abs(one.inside_ms / found.value - 1) <= ALL
    share = "" if most else f"{number(abs(one.inside_ms), 3)} ms of it "
    return f"{said}, {share}in {where}"


def difference(found: Interval) -> str:
    """ "12 ms more"."""
    return f"{number(abs(found.value), 3)} ms {more_or_less(found)}"


def more_or_less(found: Interval) -> str:
    return "more" if found.value > 0 else "less"


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
    if any(pair.input for pair in known):
        yield (
            "Waiting for images is the extra time of a step on files over one on batches that stay "
            "on the device. All other parts were timed on such batches."
        )
    if not found.lengthened:
        yield "There are no stages: the model has no variant with a longer stage."
    elif any(pair.stages for pair in known):
        yield (
            "A stage's time is the extra time of the model with that stage twice as long. What "
            "only its first block has, such as a shortcut, is in the rest."
        )
    yield "The intervals of a table hold together with 95 % confidence (Bonferroni)."


def ending(found: Explanation) -> list[str]:
    """Where and how it was measured, and where to read on."""
    facts = found.context.facts if found.context else []
    more = "Details: mbench explain --format json   Page: mbench explain --format html -o why.html"
    return [*facts, *([more] if found.differences else []), named_run(found)]


def named_run(found: Explanation) -> str:
    return f"Run {found.run}, {found.status}"
