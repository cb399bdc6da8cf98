"""What a comparison shows, in words; every report uses the same ones."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from rich.text import Text

from mbench.console import counted
from mbench.contract.axes import AXES, alike, name
from mbench.reports.cases import asked_metrics, axes_of, unspoken
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

    AnyRatio = TypeVar("AnyRatio", PairSummary, RatioInterval, EarlierRatio, RatioOverRuns)

__all__ = ["cases_of", "disturbed", "equality", "evidence", "fell_short", "figure", "further",
           "noise_note", "sentence", "setup", "together", "turned", "unproven", "verdict_line",
           "verdict_lines"]  # fmt: skip

SETUPS = {
    "default": "as its documentation shows first",
    "tuned": "as its guide to performance advises",
    "best": "under the fastest of its compilers",
}
NUMBERED = re.compile(r"#\d+$")


def cases_of(summary: Summary, pair: PairSummary) -> tuple[CaseSummary, CaseSummary]:
    """The baseline and the other."""
    baseline, other = pair.cases
    return summary.cases[baseline], summary.cases[other]


def fell_short(summary: Summary, pair: PairSummary) -> list[CaseSummary]:
    """Which of its cases did."""
    return [case for case in cases_of(summary, pair) if case.outcome != "ok"]


def turned(pair: PairSummary) -> PairSummary:
    """The pair's numbers in the direction of its sentence: of the better to the worse."""
    if pair.verdict != "slower":
        return pair
    calm = pair.undisturbed
    turned_median = None if pair.median is None else 1 / pair.median
    return replace(inverse(pair), median=turned_median, undisturbed=calm and inverse(calm))


def inverse(numbers: AnyRatio) -> AnyRatio:
    """A ratio with its interval, the other way round."""
    low, high = numbers.high, numbers.low
    return replace(
        numbers,
        ratio=numbers.ratio and 1 / numbers.ratio,
        low=low and 1 / low,
        high=high and 1 / high,
    )


def figure(numbers: AnyRatio, *, most: int = 4) -> str:
    """A ratio, with no more digits than its interval leaves a meaning."""
    return number(numbers.ratio, min(most, digits_of(numbers.low, numbers.high)))


def median(pair: PairSummary) -> str:
    """The median of rounds, likewise."""
    return number(pair.median, digits_of(pair.low, pair.high))


def bracketed(numbers: AnyRatio) -> str:
    """A ratio with its interval behind it."""
    return f"{figure(numbers)} ({interval(numbers.low, numbers.high) or 'no interval'})"


def sides(summary: Summary, pair: PairSummary) -> tuple[str, str]:
    """The baseline and the other: by what distinguishes them where settings do, else by their
    labels.

    Cases that were given twice have numbers, which say what nothing else does.
    """
    baseline, other = cases = cases_of(summary, pair)
    settings = any(case.label.startswith(f"{case.spec}:") for case in cases)
    if not settings or any(NUMBERED.search(case.label) for case in cases):
        return called(baseline), called(other)
    same = alike(axes_of(cases))
    return with_settings(baseline, less=same), with_settings(other, less=same)


def called(case: CaseSummary) -> str:
    """Its label with its compiler."""
    return f"{case.label} ({case.axes.compiler})"


def with_settings(case: CaseSummary, *, less: Collection[str]) -> str:
    """A framework with its values of all axes but those in `less`."""
    said, manner = case.spec, ""
    for axis in AXES:
        if axis.name not in less and (text := axis.text(case.axes)):
            word = "and" if axis.manner == manner else axis.manner
            said, manner = f"{said} {word} {axis.word.format(text)}", axis.manner
    return said


def setup(pairs: Collection[PairSummary]) -> str:
    """How all frameworks ran that were compared; empty where not all of them were set up alike."""
    found = {one.setup for one in pairs if one.verdict is not None}
    return f"each runs {SETUPS[tier]}" if len(found) == 1 and (tier := found.pop()) else ""


def sentence(summary: Summary, pair: PairSummary, *, tier: bool = True, ends: bool = False) -> Text:
    """Which is better, or how large a difference is not ruled out; of the same arithmetic or not.

    With how both were set up if `tier`, and with the interval if `ends`.
    """
    baseline, other = (case.axes.precision for case in cases_of(summary, pair))
    manner = SETUPS.get(pair.setup or "") if tier else None
    said = shown(
        pair,
        *sides(summary, pair),
        metric=asked_metrics(summary).get(pair.metric or ""),
        manner=f", each {manner}" if manner else "",
        ends=ends,
    )
    if baseline != other:
        said.append(f" (not the same arithmetic: {other} against {baseline})")
    return said


def shown(
    pair: PairSummary, baseline: str, other: str, *, metric: MetricSummary | None = None,
    manner: str = "", ends: bool = False,
) -> Text:  # fmt: skip
    """`manner` comes after the names that it is about, the interval after its number.

    The `metric` is named where it is another than throughput.
    """
    by = f" by {metric.title}" if metric else ""
    better, worse = (metric.faster, metric.slower) if metric else ("faster", "slower")
    kind = "fast" if better == "faster" else "good"
    ours, verdict = turned(pair), pair.verdict
    known = interval(ours.low, ours.high) if ends else ""
    behind = f" ({known})" if known else ""
    if verdict in ("faster", "slower"):
        fast, slow = (other, baseline) if verdict == "faster" else (baseline, other)
        won = f"{fast} is {figure(ours, most=3)} times{behind} as {kind} as {slow}{by}"
        return Text.assemble((won, "winner"), manner)
    said, more = verdict or "not compared", ""
    if verdict == "alike":
        said = f"alike within {percent(ALIKE)}"
    elif verdict == "depends on stalls":
        more = f", median {median(pair)}, total {figure(pair)}"
    elif verdict == "undetermined":
        more = f", {pair.undetermined}"
    elif verdict and pair.low is not None and pair.high is not None:
        down, up = percent(1 - pair.low), percent(pair.high - 1)
        more = f", {other} may be up to {down} {worse} or {up} {better}"
    style = "inconclusive" if verdict else ""
    return Text.assemble(f"{other} against {baseline}{by}{manner}: ", (said, style), more, behind)


def evidence(pair: PairSummary) -> str:
    """The numbers behind a verdict, in the direction of its sentence; else why there are none."""
    if pair.verdict is None:
        return pair.reason or "the run did not get so far"
    ours = turned(pair)
    said = f"ratio {figure(ours)}"
    if ours.low is not None:
        said += f", 95 % interval {interval(ours.low, ours.high)}"
    if pair.process_pairs:
        if ours.median is not None:
            said += f", median of rounds {median(ours)}"
        said += f", {counted(pair.process_pairs, 'process pair')}"
    if pair.far_off:
        said += f", {pair.far_off} of them far off"
    if pair.reason not in (None, "all processes measured"):
        said += f"; {pair.reason}"
    return said


def further(pair: PairSummary) -> str:
    """What it would take to know more; empty where that is known well enough, or not foreseen."""
    step = pair.next_step
    if step is None or pair.verdict not in ("no difference shown", "undetermined"):
        return ""
    what = "a verdict" if step.half_width is None else f"±{percent(step.half_width)}"
    minutes = step.seconds / 60
    price = f"{number(minutes, 2)} min" if minutes >= 1 else f"{number(step.seconds, 2)} s"
    return f"{what} would take about {price}: {step.options}"


def noise_note(pair: PairSummary) -> str:
    """How large a difference would be found here; empty where that is not known."""
    found = pair.detectable
    smallest = "smallest difference detectable with this many pairs"
    return "" if found is None else f"{smallest}: {percent(found)}"


def past(pair: PairSummary) -> str:
    """Whether earlier runs here agree, and what all say together; empty where there are none."""
    if not pair.past:
        return ""
    runs = counted(len(pair.past), "earlier run")
    against = [one for one in pair.past if one.contradicts]
    said = f"as in {runs} here"
    if against:
        share = f"{len(against)} of {runs}" if len(pair.past) > 1 else "an earlier run"
        latest = bracketed(in_direction(pair, against[0]))
        said = f"CONTRADICTED by {share} here: {latest}, {against[0].run}"
    if overall := pair.over_runs:
        said += f"; all {overall.runs} runs {bracketed(in_direction(pair, overall))}"
    return said


def in_direction(pair: PairSummary, numbers: AnyRatio) -> AnyRatio:
    """Another run's ratio in the direction of this one's sentence."""
    return inverse(numbers) if pair.verdict == "slower" else numbers


def disturbed(pair: PairSummary) -> Text:
    """That it was disturbed, and what is left without those rounds; empty where it was not."""
    if not pair.disturbances:
        return Text()
    calm = turned(pair).undisturbed
    left = f", without those rounds {bracketed(calm)}" if calm else ""
    return Text.assemble(("DISTURBED", "disturbed"), left)


def together(summary: Summary) -> str:
    """That several verdicts hold together; empty where there are not several."""
    count = sum(pair.low is not None for pair in summary.comparisons)
    if count < 2:
        return ""
    return f"{count} verdicts, which hold together with 95 % (Holm); each interval by itself"


def equality(summary: Summary, pair: PairSummary) -> Text:
    """What is known of the equality of the two cases' work."""
    if pair.equal_work not in EQUAL:
        return Text.assemble("equal work: ", unproven(summary, pair))
    proofs = [case.equal_work for case in cases_of(summary, pair)]
    errors = [proof.worst for proof in proofs if proof and proof.worst is not None]
    worst = f" (worst {max(errors):.0e})" if errors else ""
    return Text.assemble("equal work: ", (pair.equal_work, "proven"), worst)


def unproven(summary: Summary, pair: PairSummary) -> Text:
    """That it is not shown to be equal, and by which check of which case."""
    said = Text.assemble((pair.equal_work.upper(), "unproven"))
    for case in cases_of(summary, pair) if pair.verdict is not None else ():
        if case.equal_work and not case.equal_work.proven:
            said.append(f", {case.label}: {case.equal_work.failures[0]}")
    return said


def verdict_line(
    summary: Summary, pair: PairSummary, *, less: Collection[str] = (), tier: bool = True
) -> Text:
    """One comparison in one sentence, without the axes in `less`, with how both are set up if
    `tier`."""
    what = name(pair.shared, less={"compiler", *less})
    said = sentence(summary, pair, tier=tier)
    return Text.assemble(f"{what}: ", said, f" ({evidence(pair)})")


def verdict_lines(summary: Summary) -> Sequence[Text]:
    """Every two frameworks' verdict with its proof and what more would take; how all ran; that all
    hold.

    Those against the first framework come first. Where a case fell short, the pairs that this
    leaves without a verdict share a line.
    """
    less = {"compiler", *unspoken(summary.cases)}
    compared = sorted(summary.comparisons, key=lambda pair: not pair.against_first)
    whole = [pair for pair in compared if not fell_short(summary, pair)]
    manner = setup(whole) if len(whole) > 1 else ""
    lines = [
        joined([
            verdict_line(summary, pair, less=less, tier=not manner),
            equality(summary, pair),
            noise_note(pair),
            further(pair),
            past(pair),
            disturbed(pair),
        ])
        for pair in whole
    ]  # fmt: skip
    lacking: dict[tuple[str, str], list[str]] = {}
    for pair in compared:
        if fell_short(summary, pair):
            pairs = lacking.setdefault((name(pair.shared, less=less), evidence(pair)), [])
            pairs.append(f"{pair.framework} against {pair.baseline}")
    for (what, reason), pairs in lacking.items():
        lines.append(Text(f"{what}: {', '.join(pairs)}: not compared ({reason})"))
    return [*lines, *(Text(said) for said in (manner, together(summary)) if said)]
