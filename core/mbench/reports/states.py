"""Whether an answer can be believed: equal work, repeatability, the machine, each in one line."""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text

from mbench.console import counted
from mbench.contract.feed import RESIDENT, feed_of
from mbench.machine.disturbances import describe
from mbench.reports.cases import named_cases
from mbench.reports.headline import against_first
from mbench.reports.remarks import Disturbances, Doubts, Ended, of_kind
from mbench.reports.terminal import joined
from mbench.reports.text import interval
from mbench.reports.verdicts import bracketed, cases_of, fell_short, past
from mbench.results.case_summary import INTERRUPTED
from mbench.results.facts import said_of_absences
from mbench.results.proof import EQUAL
from mbench.results.run import EXPLAIN
from mbench.stats import FEWEST

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mbench.reports.remarks import Remark
    from mbench.results.pair_summary import PairSummary
    from mbench.results.summary import Summary

__all__ = ["FAILED", "OK", "REST", "WARNING", "State", "doubts", "equal_work", "machine", "states"]

OK, WARNING, FAILED = "ok", "warn", "FAIL"
MOST = 2
"""Beyond this number, kinds of disturbances and doubtful or failed cases are only counted."""
DISAGREE = 2.0
"""If an interval's upper end is this many times its lower end, pairs are not repeatable."""
REST = ": mbench show -v"


@dataclass(frozen=True)
class State:
    """One thing that a reader should know before believing an answer."""

    level: str
    """`ok`, `warn` or `FAIL`."""
    title: str
    """What it is about, in a word or two."""
    text: Text
    """What was found, and what to do if it is not good."""


def states(
    summary: Summary, remarks: Sequence[Remark], *, most: int = MOST, rest: str = REST
) -> list[State]:
    """The states of a run, most important first.

    Failures, doubts and disturbances beyond `most` are only counted; `rest` says where they are.
    """
    compared = [pair for pair in against_first(summary) if pair.verdict is not None]
    found = [*failures(summary, remarks, most, rest), *equal_work(summary, compared, most),
             *doubts(remarks, most, rest), *unchecked(summary)]  # fmt: skip
    found += arithmetic(summary, compared)
    if compared:
        found.append(repeatable(summary, compared))
    if any(case.processes for case in summary.cases):
        found.append(machine(compared, remarks, most, rest))
    if summary.absences:
        found.append(State(WARNING, "pauses", Text(said_of_absences(summary.absences))))
    if others := summary.other_mbench:
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        said = f"process {others[0].pid}{more} measured at the same time: measure again, one after "
        said += "the other"
        found.append(State(WARNING, "other mbench", Text(said)))
    return found


def failures(summary: Summary, remarks: Sequence[Remark], most: int, rest: str) -> Iterator[State]:
    """What was not measured: the run itself, or single cases."""
    if summary.cut_off:
        said = "its file ends in the middle of a line; everything before it is shown"
        yield State(WARNING, "run", Text(said))
    for said in summary.oddities:
        yield State(WARNING, "run", Text(said))
    if summary.status in ("interrupted", "unfinished"):
        command = "mbench compare"
        if summary.protocol.name == EXPLAIN:
            command = "the same command with"  # compare does not know which parts are missing
        said = f"{summary.status}; {command} --resume {summary.run} measures the rest"
        yield State(WARNING, "run", Text(said))
    short = [case for pair in against_first(summary) for case in fell_short(summary, pair)]
    ended: dict[tuple[str, str], dict[str, None]] = {}
    for who, case in named_cases(summary):
        if any(case is one for one in short):
            ended.setdefault((case.outcome, case.reason), {})[who] = None
    for remark in of_kind(remarks, Ended):
        if isinstance(value := remark.value, Ended):
            ended.setdefault((value.outcome, value.reason), {}).update(
                dict.fromkeys(remark.subject)
            )
    found = [(key, list(cases)) for key, cases in ended.items() if key[1] != INTERRUPTED]
    for (outcome, reason), cases in found[:most]:
        more = f" and {counted(len(cases) - most, 'more case')}" if len(cases) > most else ""
        said = f"{', '.join(cases[:most])}{more}: {outcome}: {reason}"
        yield State(FAILED, "failed", Text(said))
    if others := sum(len(cases) for _, cases in found[most:]):
        yield State(FAILED, "failed", Text(f"{counted(others, 'more case')}{rest}"))
    for folder in sorted({case.axes.data for case in summary.cases if case.outcome == "failed"}):
        if feed_of(folder) != RESIDENT:
            said = f"mbench data check {shlex.quote(folder)} names files that do not decode"
            yield State(WARNING, "data", Text(said))


def equal_work(summary: Summary, pairs: Sequence[PairSummary], most: int) -> Iterator[State]:
    """Whether the compared work is known to be equal; for single cases if nothing is compared."""
    if pairs:
        grades = Counter(pair.equal_work for pair in pairs)
        cases = [case for pair in pairs for case in cases_of(summary, pair)]
    else:
        cases = [case for case in summary.cases if case.outcome == "ok"]
        known = [case.equal_work for case in cases]
        grades = Counter(
            "not checked" if one is None else one.grade if one.proven else "not proven"
            for one in known
        )
    if not grades:
        return
    errors = [one.worst for case in cases if (one := case.equal_work) and one.worst is not None]
    loud = {grade: grade if grade in EQUAL else grade.upper() for grade in grades}
    said = [f"{loud[grade]} in {count} of {sum(grades.values())}" if len(grades) > 1
            else loud[grade] for grade, count in grades.items()]  # fmt: skip
    if grades.keys() <= set(EQUAL):
        worst = f": results within {max(errors):.0e} of the reference" if errors else ""
        yield State(OK, "equal work", Text(", ".join(said) + worst))
        return
    failed = {
        f"{case.label}: {case.equal_work.failures[0]}": None
        for case in cases
        if case.equal_work and not case.equal_work.proven
    }
    level = FAILED if failed else WARNING
    hint = [] if failed else ["leave out --no-verify to prove it"]
    unproven = Text(", ".join(said), "unproven")
    yield State(level, "equal work", joined([unproven, *list(failed)[:most], *hint]))


def doubts(remarks: Sequence[Remark], most: int, rest: str) -> Iterator[State]:
    """Timed work that contradicts its proof."""
    found = of_kind(remarks, Doubts)
    for remark in found[:most]:
        if isinstance(value := remark.value, Doubts):
            yield State(FAILED, "timed work", Text("; ".join(value.texts)))
    if len(found) > most:
        more = counted(len(found) - most, "case")
        yield State(FAILED, "timed work", Text(f"{more} more{rest}"))


def unchecked(summary: Summary) -> Iterator[State]:
    """What could not be checked about the timed work, in any case."""
    found = {said: None for case in summary.cases for said in case.unchecked}
    if found:
        said = f"not checked: {' and '.join(list(found)[:MOST])}"
        yield State(WARNING, "timed work", Text(said))


def arithmetic(summary: Summary, pairs: Sequence[PairSummary]) -> Iterator[State]:
    """Cases that are compared with a case of another precision."""
    cases = [cases_of(summary, pair) for pair in pairs]
    found = [f"{other.label} computes in {other.axes.precision}, {base.label} in "
             f"{base.axes.precision}" for base, other in cases
             if base.axes.precision != other.axes.precision]  # fmt: skip
    if found:
        yield State(WARNING, "arithmetic", Text("not the same: " + "; ".join(found)))


def repeatable(summary: Summary, pairs: Sequence[PairSummary]) -> State:
    """How many process pairs the answer is based on, and whether earlier runs agree with it."""
    counts = sorted({pair.calm_pairs for pair in pairs})
    least, most = counts[0], counts[-1]
    if not most and not any(pair.spoilt_pairs for pair in pairs):
        name = summary.protocol.name
        return State(WARNING, "repeatable", Text(f"not known: {name} has no process pairs"))
    disturbed = any(pair.spoilt_pairs for pair in pairs)
    kind = "undisturbed pair" if disturbed else "pair"
    said = counted(most, kind) if least == most else f"{least} to {most} {kind}s"
    if least < FEWEST:
        return State(WARNING, "repeatable", Text(f"{said} of the {FEWEST} that an answer needs"))
    said += " of fresh processes"
    before = [pair for pair in pairs if pair.past]
    against = [pair for pair in before if any(one.contradicts for one in pair.past)]
    level = WARNING if against else OK
    if len(pairs) == 1 and (apart := disagreement(pairs[0])):
        level, said = WARNING, f"{said}, which disagree: {apart}"
    if left_out := max(pair.left_out_pairs for pair in pairs):
        said += f", {left_out} more left out, disturbed throughout"
    if len(pairs) == 1:
        why = (pairs[0].reason or "").removeprefix("all processes measured").removeprefix(", ")
        return State(level, "repeatable", joined([said, why, past(pairs[0])]))
    agree = ""
    if before:
        agree = f"{len(before) - len(against)} of {len(before)} agree with earlier runs"
    loud = [Text.assemble(f"{pair.framework}: ", past(pair)) for pair in against[:MOST]]
    return State(level, "repeatable", joined([f"{said} each", agree, *loud]))


def disagreement(pair: PairSummary) -> str:
    """The interval of a ratio if it spans a factor of `DISAGREE` or more; else empty."""
    if not (pair.low and pair.high) or pair.high < DISAGREE * pair.low:
        return ""
    return f"the ratio is {interval(pair.low, pair.high)}"


def machine(pairs: Sequence[PairSummary], remarks: Sequence[Remark], most: int, rest: str) -> State:
    """What disturbed the measurement, the worst first, and the ratio without those rounds."""
    found = [remark.value.found for remark in of_kind(remarks, Disturbances)
             if isinstance(remark.value, Disturbances)]  # fmt: skip
    if not found:
        return State(OK, "machine", Text("quiet"))
    found.sort(key=lambda alike: -max(one.share for one in alike))
    said: list[str | Text] = [describe(alike) for alike in found[:most]]
    if len(found) > most:
        said.append(f"{len(found) - most} more{rest}")
    calm = pairs[0].undisturbed if len(pairs) == 1 else None
    if calm:
        enough = calm.low is not None and calm.high is not None
        said.append(
            f"without those rounds {bracketed(calm)}"
            if enough
            else "too few rounds are left without those"
        )
    said.append("mbench doctor says what to do")
    return State(WARNING, "machine", Text.assemble(("disturbed", "disturbed"), ": ", joined(said)))
