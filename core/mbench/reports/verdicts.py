"""What a comparison shows, in words; every report uses the same ones.

All ratios have one direction: the other framework relative to the baseline.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

from rich.text import Text

from mbench.console import counted
from mbench.contract.axes import name
from mbench.contract.tier import BEST, DEFAULT, TUNED
from mbench.reports.cases import asked_metrics, one_compiler_each, unspoken
from mbench.reports.terminal import joined
from mbench.reports.text import digits_of, interval, number, percent
from mbench.results.proof import EQUAL
from mbench.stats import ALIKE

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from mbench.results.case_summary import CaseSummary
    from mbench.results.metrics import MetricSummary
    from mbench.results.pair_summary import PairSummary, RatioInterval
    from mbench.results.replication import EarlierRatio, RatioOverRuns
    from mbench.results.summary import Summary

    AnyRatio: TypeAlias = PairSummary | RatioInterval | EarlierRatio | RatioOverRuns

__all__ = ["UNDECIDED", "as_well", "bracketed", "called", "cases_of", "changes", "disturbed",
           "equality", "evidence", "fell_short", "figure", "further", "is_times", "noise_note",
           "past", "price", "range_of", "sentence", "setup", "shown", "times", "together",
           "unproven", "verdict_line", "verdict_lines"]  # fmt: skip

SETUPS = {
    DEFAULT: "default settings",
    TUNED: "tuned settings",
    BEST: "tuned settings and each framework's fastest compiler",
}
TWICE = 2.0
"""From this ratio up, words give a number of times instead of a percentage. They do so for a half
and below, too, where "53 % slower" could mean half the speed or one and a half times the time."""
UNDECIDED = ("no difference shown", "undetermined")
"""Verdicts that more pairs, or a quieter machine, may change."""


def cases_of(summary: Summary, pair: PairSummary) -> tuple[CaseSummary, CaseSummary]:
    """The cases of the baseline and of the other framework."""
    baseline, other = pair.cases
    return summary.cases[baseline], summary.cases[other]


def fell_short(summary: Summary, pair: PairSummary) -> list[CaseSummary]:
    """The cases of the pair that were not measured."""
    return [case for case in cases_of(summary, pair) if case.outcome != "ok"]


def called(summary: Summary, case: CaseSummary) -> str:
    """The framework's title if every label is just a framework's name, else the label."""
    plain = all(one.label == one.framework for one in summary.cases)
    return case.framework_title if plain else case.label


def figure(numbers: AnyRatio, *, most: int = 4) -> str:
    """A ratio, with no more digits than are meaningful given its interval."""
    return number(numbers.ratio, min(most, digits_of(numbers.low, numbers.high)))


def median(pair: PairSummary) -> str:
    """The median ratio of rounds, with no more digits than the interval makes meaningful."""
    return number(pair.median, digits_of(pair.low, pair.high))


def bracketed(numbers: AnyRatio) -> str:
    """A ratio, followed by its interval in brackets."""
    return f"{figure(numbers)} ({interval(numbers.low, numbers.high) or 'no interval'})"


def percentage(ratio: float, decimals: int) -> str:
    """How far a ratio is from 1, without its sign; never 0 for a ratio that is not 1."""
    off = 100 * abs(ratio - 1)
    for places in range(decimals, 10):
        if float(text := f"{off:.{places}f}") or not off:
            return text
    return f"{off:.2g}"


def decimals_of(low: float | None, high: float | None) -> int:
    """Decimals of a percentage that are meaningful given its interval."""
    if low is None or high is None or not 0 < low < high:
        return 0
    return min(3, max(0, -math.floor(math.log10(50 * (high - low)))))


def is_times(ratio: float) -> bool:
    """Whether words give a ratio as a number of times."""
    return not 1 / TWICE < round(ratio, 3) < TWICE


def times(ratio: float, *, low: float | None = None, high: float | None = None) -> str:
    """A ratio with as many digits as are meaningful given its interval, at most three."""
    return number(ratio, min(3, digits_of(low, high)))


def as_well(better: str) -> str:
    """The word after "times as": "fast" if `better` is "faster", else "good"."""
    return "fast" if better == "faster" else "good"


def changes(ratio: float, *, low: float | None = None, high: float | None = None,
            better: str = "faster", worse: str = "slower") -> str:  # fmt: skip
    """As in "11 % faster", "5 % slower", "2.1 times as fast" or "0.47 times as fast", without
    meaningless digits."""
    if is_times(ratio):
        return f"{times(ratio, low=low, high=high)} times as {as_well(better)}"
    word = better if ratio >= 1 else worse
    return f"{percentage(ratio, decimals_of(low, high))} % {word}"


def range_of(numbers: AnyRatio, *, better: str = "faster", worse: str = "slower") -> str:
    """An interval in words, as in "7 to 16 % faster", "up to 1 % slower or 3 % faster" or, where
    it is wide, "0.7 to 2.1 times as fast".

    Empty if there is no interval.
    """
    low, high, ratio = numbers.low, numbers.high, numbers.ratio
    if low is None or high is None or ratio is None:
        return ""
    if any(map(is_times, (low, high, ratio))):
        least, most = (times(end, low=low, high=high) for end in (low, high))
        said = is_times(ratio) and not low <= 1 <= high  # "as fast" stands just before
        return f"{least} to {most} times" + ("" if said else f" as {as_well(better)}")
    places = decimals_of(low, high)
    ends = [percentage(low, places), percentage(high, places)]
    if low >= 1:
        return f"{' to '.join(ends)} % {better}"
    if high <= 1:
        return f"{' to '.join(reversed(ends))} % {worse}"
    return f"up to {ends[0]} % {worse} or {ends[1]} % {better}"


def setup(pairs: Collection[PairSummary]) -> str:
    """The settings under which all frameworks ran; empty where not all were set up alike."""
    found = {one.setup for one in pairs if one.verdict is not None}
    return SETUPS[tier] if len(found) == 1 and (tier := found.pop()) else ""


def sentence(summary: Summary, pair: PairSummary, *, ends: bool = False) -> Text:
    """How much faster or slower the other is, or how large a difference is not ruled out.

    With the interval if `ends`, and a note where the precisions differ.
    """
    baseline, other = cases_of(summary, pair)
    metric = asked_metrics(summary).get(pair.metric or "")
    names = called(summary, baseline), called(summary, other)
    said = shown(pair, *names, metric=metric, ends=ends)
    kinds = other.axes.precision, baseline.axes.precision
    if kinds[0] != kinds[1]:
        said.append(f" (not the same arithmetic: {kinds[0]} against {kinds[1]})")
    return said


def shown(
    pair: PairSummary, baseline: str, other: str, *, metric: MetricSummary | None = None,
    ends: bool = False,
) -> Text:  # fmt: skip
    """What a pair shows, in a sentence; `metric` is None for throughput, which is not named."""
    by = f" by {metric.title}" if metric else ""
    better, worse = (metric.faster, metric.slower) if metric else ("faster", "slower")
    known = range_of(pair, better=better, worse=worse)
    behind = f" (95 % interval: {known})" if known and ends else ""
    verdict, ratio = pair.verdict, pair.ratio
    if verdict in ("faster", "slower") and ratio is not None:
        much = changes(ratio, low=pair.low, high=pair.high, better=better, worse=worse)
        than = "as" if is_times(ratio) else "than"
        return Text.assemble((f"{other} is {much} {than} {baseline}{by}", "winner"), behind)
    if verdict == "alike":
        said = f"{other} and {baseline} are alike{by}, within {percent(ALIKE)}"
        return Text.assemble((said, "inconclusive"), behind)
    if verdict == "depends on stalls":
        said = f"{other} against {baseline} depends on stalls{by}"
        more = f": {figure(pair)} by total time, {median(pair)} by the median round"
        return Text.assemble((said, "inconclusive"), more, behind)
    if verdict == "undetermined":
        said = f"No answer yet on {other} against {baseline}{by}"
        return Text.assemble((said, "inconclusive"), f": {pair.undetermined}")
    if verdict is None:
        return Text.assemble((f"{other} against {baseline}{by}: not compared", "failed"))
    said = f"No difference shown between {other} and {baseline}{by}"
    may = f": {other} may be {known}" if known else ""
    return Text.assemble((said, "inconclusive"), may)


def evidence(pair: PairSummary) -> str:
    """The numbers behind a verdict, or why there are none."""
    if pair.verdict is None:
        return pair.reason or "the run ended before this comparison"
    said = f"ratio {figure(pair)}"
    if pair.low is not None:
        said += f", 95 % interval {interval(pair.low, pair.high)}"
    if pair.process_pairs:
        if pair.median is not None:
            said += f", median of rounds {median(pair)}"
        said += f", {counted(pair.process_pairs, 'process pair')}"
    if pair.left_out_pairs:
        said += f", {pair.left_out_pairs} more left out, disturbed in every round"
    if pair.far_off:
        said += f", {pair.far_off} of them far off"
    if pair.reason not in (None, "all processes measured"):
        said += f"; {pair.reason}"
    return said


def further(pair: PairSummary) -> str:
    """What it would take to know more; empty if enough is known, or if that cannot be foreseen."""
    return price(pair) if pair.verdict in UNDECIDED else ""


def price(pair: PairSummary) -> str:
    """What the pair's next step would give, how long it would take, and what to type; empty if no
    next step is known.
    """
    step = pair.next_step
    if step is None:
        return ""
    width = None if pair.verdict == "undetermined" else step.half_width
    what = f"To narrow it to ±{percent(width)}" if width is not None else "To get an answer"
    if pair.spoilt_pairs and width is None:
        what = "To get an answer, stop what disturbs the machine, then"
    minutes = step.seconds / 60
    time = f"{number(minutes, 2)} min" if minutes >= 1 else f"{number(step.seconds, 2)} s"
    comma = "" if what.endswith("then") else ","
    return f"{what}{comma} about {time} more: {step.command}"


def noise_note(pair: PairSummary) -> str:
    """The smallest difference that this many pairs would show; empty if it is not known."""
    found = pair.detectable
    smallest = "smallest difference detectable with this many pairs"
    return "" if found is None else f"{smallest}: {percent(found)}"


def past(pair: PairSummary) -> Text:
    """Whether earlier runs agree, and the ratio over all runs; empty if there are none."""
    if not pair.past:
        return Text()
    runs = counted(len(pair.past), "earlier run")
    against = [one for one in pair.past if one.contradicts]
    said = Text(f"agrees with {runs} here")
    if against:
        share = f"{len(against)} of {runs}" if len(pair.past) > 1 else "an earlier run"
        said = Text.assemble(("CONTRADICTED", "disturbed"), f" by {share} on this machine: "
                             f"{bracketed(against[0])} in {against[0].run}")  # fmt: skip
    if overall := pair.over_runs:
        said.append(f"; all {overall.runs} runs {bracketed(overall)}")
    return said


def disturbed(pair: PairSummary) -> Text:
    """Says that a pair was disturbed, with its ratio without those rounds; empty if it was not."""
    if not pair.disturbances:
        return Text()
    calm = pair.undisturbed
    left = f", without those rounds {bracketed(calm)}" if calm else ""
    return Text.assemble(("DISTURBED", "disturbed"), left)


def together(summary: Summary) -> str:
    """Says that several verdicts hold together; empty if there are not several."""
    count = sum(pair.low is not None for pair in summary.comparisons)
    if count < 2:
        return ""
    return f"{count} verdicts hold together with 95 % confidence (Holm); each interval holds alone."


def equality(summary: Summary, pair: PairSummary) -> Text:
    """Whether the two cases' work is known to be equal."""
    if pair.equal_work not in EQUAL:
        return Text.assemble("equal work: ", unproven(summary, pair))
    proofs = [case.equal_work for case in cases_of(summary, pair)]
    errors = [proof.worst for proof in proofs if proof and proof.worst is not None]
    worst = f" (largest error {max(errors):.0e})" if errors else ""
    return Text.assemble("equal work: ", (pair.equal_work, "proven"), worst)


def unproven(summary: Summary, pair: PairSummary) -> Text:
    """Says that the work is not shown to be equal, and by which check of which case."""
    said = Text.assemble((pair.equal_work.upper(), "unproven"))
    for case in cases_of(summary, pair) if pair.verdict is not None else ():
        if case.equal_work and not case.equal_work.proven:
            said.append(f", {case.label}: {case.equal_work.failures[0]}")
    return said


def verdict_line(summary: Summary, pair: PairSummary, *, less: Collection[str] = ()) -> Text:
    """One comparison in one sentence, without the axes in `less`."""
    what = name(pair.shared, less={"compiler", *less})
    if not one_compiler_each(summary.cases):
        baseline, other = (case.axes.compiler for case in cases_of(summary, pair))
        what += f", {other}" if other == baseline else f", {other} against {baseline}"
    return Text.assemble(f"{what}: ", sentence(summary, pair), f" ({evidence(pair)})")


def verdict_lines(summary: Summary) -> Sequence[Text]:
    """Every comparison in full: its verdict, proof, noise and disturbances; those against the
    first framework come first.
    """
    less = {"compiler", *unspoken(summary.cases)}
    compared = sorted(summary.comparisons, key=lambda pair: not pair.against_first)
    lines = [
        joined([
            verdict_line(summary, pair, less=less),
            equality(summary, pair),
            noise_note(pair),
            past(pair),
            disturbed(pair),
        ])
        for pair in compared
    ]  # fmt: skip
    return [*lines, *(Text(said) for said in [together(summary)] if said)]
