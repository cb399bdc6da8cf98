"""Whether an explanation can be trusted: what is missing, the proofs, and what disturbed it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rich.text import Text

from mbench.console import counted
from mbench.explain.analysis import explain
from mbench.explain.context import Context
from mbench.explain.plan import FEWEST_SETS
from mbench.explain.summary import Difference
from mbench.reports.remarks import remarks
from mbench.reports.states import (
    FAILED,
    OK,
    WARNING,
    State,
    doubts,
    equal_work,
    machine,
)
from mbench.reports.text import number
from mbench.results.summary import analyse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mbench.explain.summary import Explanation, Pair
    from mbench.results.records import Run
    from mbench.results.summary import Summary

__all__ = ["explained", "states_of"]

MOST = 2
"""Most missing parts that are named; any more are only counted."""


def explained(run: Run) -> Explanation:
    """The explanation of a run with its context; raises MbenchError if there is none."""
    found, summary = explain(run), analyse(run)
    return replace(found, context=Context(summary=summary, states=states_of(found, summary)))


def states_of(found: Explanation, summary: Summary) -> list[State]:
    """The states, with the most important first."""
    said = remarks(summary)
    rest = f": mbench show {found.run} -v"
    made = [*failures(found), *equal_work(summary, [], MOST), *doubts(said, MOST, rest)]
    for pair in found.differences:
        made += [sets_of(pair), *impossible(pair)]
    if any(case.processes for case in summary.cases):
        made.append(machine([], said, MOST, rest))
    return made


def failures(found: Explanation) -> Iterator[State]:
    """What is missing, and why."""
    ended_early = found.status in ("interrupted", "unfinished")
    if ended_early:
        resume = f"the same command with --resume {found.run} measures the rest"
        yield State(WARNING, "run", Text(f"{found.status}; {resume}"))
    ended = {case.reason: case for case in found.cases if case.reason}
    for reason, case in ended.items():
        who = ", ".join(one.label for one in found.cases if one.reason == reason)
        yield State(FAILED, "failed", Text(f"{who}: {case.outcome}: {reason}"))
    if ended and not found.differences:
        return
    for part in found.missing[:MOST]:
        yield State(WARNING, "lacking", Text(f"{part.label} lacks {part.part}: {part.reason}"))
    if (rest := len(found.missing) - MOST) > 0:
        more = counted(rest, "more part")
        yield State(WARNING, "lacking", Text(f"{more}: mbench explain --format json"))
    if found.left_out and not ended_early:
        names = ", ".join(found.left_out[:MOST])
        more = f" and {len(found.left_out) - MOST} more" if len(found.left_out) > MOST else ""
        said = (
            f"{counted(len(found.left_out), 'operator')} did not fit the budget: {names}{more}; "
            f"the same command with --resume {found.run} measures them"
        )
        yield State(WARNING, "left out", Text(said))


def sets_of(pair: Pair) -> State:
    said = f"{counted(pair.sets, 'set')} of processes"
    if pair.sets < FEWEST_SETS:
        return State(WARNING, "repeatable", Text(f"{said} of the {FEWEST_SETS} that an answer "
                                                 "needs"))  # fmt: skip
    return State(OK, "repeatable", Text(said))


def impossible(pair: Pair) -> Iterator[State]:
    """Where this method cannot separate parts of a step."""
    if not isinstance(pair, Difference):
        return
    for stage in pair.not_additive:
        total = number(stage.blocks / stage.added * stage.partly_ms, 3)
        said = (
            f"{stage.stage} is not additive here: in {stage.framework}, "
            f"{counted(stage.blocks, 'more block')} take {number(stage.twice_ms, 3)} ms, and "
            f"{stage.added} of them {number(stage.partly_ms, 3)} ms, which suggests {total} ms for "
            "all of them"
        )
        yield State(WARNING, "stages", Text(said))
    for one in pair.overlaps:
        beyond = one.beyond_ms
        said = (
            f"parts overlap in {one.framework}: together its {one.level} take "
            f"{number(beyond.value, 3)} ms ({number(beyond.low, 3)} to {number(beyond.high, 3)}) "
            f"more than {one.of}, so none is a share of the difference"
        )
        yield State(WARNING, one.level, Text(said))
