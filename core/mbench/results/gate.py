"""The gate: whether anything became slower than is allowed, or could not be measured precisely
enough.

One rule for two frameworks of a run, for two runs, and for the Python API.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mbench.console import counted
from mbench.contract.axes import name
from mbench.contract.quantities import Share
from mbench.results.replication import WIDTHS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mbench.results.pair_summary import PairSummary
    from mbench.stats import Interval

__all__ = ["DOUBTED", "FAILED", "IMPRECISE", "INCOMPARABLE", "INCONCLUSIVE", "PASSED", "SLOWER",
           "UNCHECKED", "UNMEASURED", "UNPROVEN", "Gate", "GatedCase", "gate_of", "gate_of_pairs",
           "half_width_for", "judge", "judge_pair"]  # fmt: skip

PASSED, FAILED, INCONCLUSIVE = "passed", "failed", "inconclusive"
EXIT_CODES = {PASSED: 0, FAILED: 1, INCONCLUSIVE: 3}
SLOWER, UNMEASURED, UNPROVEN = "slower", "not measured", "not proven equal"
DOUBTED, UNCHECKED = "in doubt", "not checked"
IMPRECISE, INCOMPARABLE = "not precise enough", "not comparable"


@dataclass(frozen=True, kw_only=True)
class GatedCase:
    """A case that the gate judges."""

    case: str
    """The case, in words."""
    outcome: str
    """`passed`, `failed` or `inconclusive`."""
    why: str = ""
    """`slower`, `not measured`, `not proven equal`, `in doubt`, `not checked`, `not precise
    enough`, `not comparable`; empty where it passed."""


@dataclass(frozen=True, kw_only=True)
class Gate:
    """What the gate says about all cases; `str()` gives it in one line."""

    fail_if_slower: Share
    """The slowdown that is not allowed."""
    allow_inconclusive: bool
    """Whether cases that are not precise enough are ignored if at least one case passed."""
    cases: list[GatedCase]
    """Every case that is judged."""
    outcome: str
    """`passed`, `failed` or `inconclusive`."""

    @property
    def exit_code(self) -> int:
        """0, 1 or 3, for `passed`, `failed` or `inconclusive`."""
        return EXIT_CODES[self.outcome]

    @property
    def forgives(self) -> bool:
        """Whether inconclusive cases do not count."""
        return self.allow_inconclusive and self.outcome != INCONCLUSIVE

    def __str__(self) -> str:
        limit, total = f"{100 * self.fail_if_slower:.3g} %", counted(len(self.cases), "case")
        of: dict[str, list[str]] = {outcome: [] for outcome in EXIT_CODES}
        for case in self.cases:
            of[case.outcome].append(case.why)
        if self.outcome == FAILED:
            said = counts(of[FAILED], total, {SLOWER: f"slower by more than {limit}"})
            rest = f", {len(of[INCONCLUSIVE])} inconclusive" * bool(of[INCONCLUSIVE])
            return f"gate FAILED: {said}{rest}"
        unknown = of[INCONCLUSIVE]
        if self.outcome == PASSED:
            rest = f", {len(unknown)} inconclusive, which is allowed" * bool(unknown)
            return f"gate passed: {len(of[PASSED])} of {total} no more than {limit} slower{rest}"
        if not self.cases:
            return "gate inconclusive: there is no case to judge"
        apart = unknown.count(INCOMPARABLE)
        if apart == len(unknown):
            return f"gate inconclusive: {len(self.cases) - apart} of {total} comparable"
        said = f"{len(of[PASSED])} of {total} precise enough to see {limit}"
        return f"gate inconclusive: {said}" + f", {apart} not comparable" * bool(apart)


def counts(reasons: Sequence[str], total: str, words: dict[str, str]) -> str:
    """How many cases there are for each reason, most frequent first."""
    first, *others = [
        f"{count}{{}} {words.get(why, why)}" for why, count in Counter(reasons).most_common()
    ]
    return ", ".join([first.format(f" of {total}"), *(other.format("") for other in others)])


def judge(low: float | None, high: float | None, *, allowance: float) -> str:
    """What the interval of a ratio, new speed over old, says about a slowdown of more than
    `allowance`.

    `failed` if the whole interval lies beyond the allowance, `passed` if none of it does, else
    `inconclusive`, also if there is no interval.
    """
    limit = 1 - allowance
    if low is None or high is None or low < limit <= high:
        return INCONCLUSIVE
    return PASSED if low >= limit else FAILED


def half_width_for(interval: Interval, *, allowance: float) -> float | None:
    """The half-width at which an inconclusive interval would lie beyond the allowance, or exclude
    such a slowdown; None if the interval is not inconclusive, or too near the allowance.
    """
    if judge(interval.low, interval.high, allowance=allowance) != INCONCLUSIVE:
        return None
    away = abs(math.log(interval.value / (1 - allowance)))
    return next((width for width in WIDTHS if width <= away), None)


def judge_pair(pair: PairSummary, *, allowance: float) -> tuple[str, str]:
    """The outcome for two frameworks of a run, and why: see `GatedCase`.

    A failure must hold together with all other verdicts of the run, as its verdict does. If spoilt
    pairs leave too few others, or if stalls decide, the interval is not believed.
    """
    if pair.ended is not None:
        return FAILED, UNMEASURED
    if pair.equal_work == "not proven":
        return FAILED, UNPROVEN
    if pair.verdict is None:
        return INCONCLUSIVE, INCOMPARABLE
    found = judge(pair.low, pair.high, allowance=allowance)
    believed = pair.verdict != "depends on stalls" and pair.believable
    if not believed or (found == FAILED and pair.verdict != "slower"):
        found = INCONCLUSIVE
    return found, {PASSED: "", FAILED: SLOWER, INCONCLUSIVE: IMPRECISE}[found]


def gate_of(cases: Iterable[GatedCase], *, fail_if_slower: float, allow_inconclusive: bool) -> Gate:
    """One failure fails the gate. Otherwise, one inconclusive case makes it inconclusive, unless
    that is allowed. But a gate without a case that passed never passes.
    """
    found = list(cases)
    outcomes = {case.outcome for case in found}
    if FAILED in outcomes:
        outcome = FAILED
    elif PASSED in outcomes and (allow_inconclusive or INCONCLUSIVE not in outcomes):
        outcome = PASSED
    else:
        outcome = INCONCLUSIVE
    return Gate(
        fail_if_slower=fail_if_slower,
        allow_inconclusive=allow_inconclusive,
        cases=found,
        outcome=outcome,
    )


def gate_of_pairs(
    pairs: Iterable[PairSummary], *, fail_if_slower: float, allow_inconclusive: bool = False
) -> Gate:
    """The gate of every other framework against the first one. Compilers are named if a framework
    ran under several.
    """
    judged = [pair for pair in pairs if pair.against_first]
    compilers = {used for pair in judged for used in pair.compilers.items()}
    several = len(compilers) > len({label for label, _ in compilers})
    cases = []
    for pair in judged:
        outcome, why = judge_pair(pair, allowance=fail_if_slower)
        what = f"{pair.framework} against {pair.baseline}: {name(pair.shared)}"
        if several:
            baseline, other = (pair.compilers[label] for label in (pair.baseline, pair.framework))
            what += f", {other}" if other == baseline else f", {other} against {baseline}"
        cases.append(GatedCase(case=what, outcome=outcome, why=why))
    return gate_of(cases, fail_if_slower=fail_if_slower, allow_inconclusive=allow_inconclusive)
