"""A whole run in one or a few sentences: which framework is faster, how often, and by how much."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.console import counted
from mbench.contract.axes import alike
from mbench.reports.cases import (
    asked_metrics,
    axes_of,
    distinguished,
    labelled_axes,
    one_compiler_each,
    unspoken,
)
from mbench.reports.text import interval, number, percent
from mbench.reports.verdicts import as_well, called, cases_of, changes, is_times, sentence, times
from mbench.stats import ALIKE

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from mbench.results.pair_summary import PairSummary
    from mbench.results.summary import Summary

__all__ = ["against_first", "compilers", "headline", "labels", "shared", "subject"]

Labels = tuple[str, str]

MOST_PAIRS = 3
"""With more pairs of frameworks, only the cases that show a difference are counted."""
WON = {"faster", "slower"}
WITHOUT_WINNER = {
    "alike": f"alike within {percent(ALIKE)}",
    "no difference shown": "no difference shown",
    "depends on stalls": "depends on stalls",
    "undetermined": "no answer yet",
    None: "not compared",
}


def headline(summary: Summary) -> str:
    """The answer, always relative to the baseline: the other framework is faster, or slower."""
    pairs: dict[Labels, list[PairSummary]] = {}
    compared = against_first(summary)
    for pair in compared:
        pairs.setdefault(labels(summary, pair), []).append(pair)
    if len(compared) == 1:
        return str(sentence(summary, compared[0], ends=True))
    if pairs and len(pairs) == len(compared):
        return of_one_case(summary, pairs)
    if pairs:
        brief = len(pairs) > MOST_PAIRS
        return "; ".join(of_several(summary, who, of, brief=brief) for who, of in pairs.items())
    if len(summary.cases) == 1 and (speed := summary.cases[0].throughput):
        ends = interval(speed.low, speed.high)
        said = f"{called(summary, summary.cases[0])}: {number(speed.value)} {speed.unit}"
        return f"{said} (95 % interval: {ends})" if ends else said
    alone = dict.fromkeys(called(summary, case) for case in summary.cases)
    many = f", {counted(len(summary.cases), 'case')}" if len(summary.cases) > len(alone) else ""
    return f"{' and '.join(alone)} alone{many}" if alone else "Nothing was measured"


def labels(summary: Summary, pair: PairSummary) -> Labels:
    """The labels of the baseline and of the other framework."""
    baseline, other = cases_of(summary, pair)
    return baseline.label, other.label


def names(summary: Summary, pair: PairSummary) -> Labels:
    """The names of the baseline and of the other framework in sentences."""
    baseline, other = cases_of(summary, pair)
    return called(summary, baseline), called(summary, other)


def of_one_case(summary: Summary, pairs: Mapping[Labels, list[PairSummary]]) -> str:
    """Several frameworks against the first: those that differ and by how much, then the others."""
    said: list[str] = []
    rest: dict[tuple[str | None, str], list[str]] = {}
    for (pair,) in pairs.values():
        baseline, other = names(summary, pair)
        if pair.verdict in WON:
            said.append(str(sentence(summary, pair)))
        else:
            rest.setdefault((pair.verdict, baseline), []).append(other)
    said += [
        f"{' and '.join(others)} against {baseline}: {WITHOUT_WINNER[verdict]}"
        for (verdict, baseline), others in rest.items()
    ]
    return "; ".join(said)


def of_several(summary: Summary, who: Labels, of: list[PairSummary], *, brief: bool) -> str:
    """Two frameworks over several cases: how often one is faster, how often slower, and unless
    `brief`, the rest."""
    said: list[str] = []
    by_verdict: dict[str | None, list[PairSummary]] = {}
    for pair in of:
        by_verdict.setdefault(pair.verdict, []).append(pair)
    baseline, other = names(summary, of[0])
    for verdict in sorted(WON & by_verdict.keys(), key=lambda won: -len(by_verdict[won])):
        found = by_verdict[verdict]
        metric = asked_metrics(summary).get(found[0].metric or "")
        better, worse = (metric.faster, metric.slower) if metric else ("faster", "slower")
        by = f" by {metric.title}" if metric else ""
        word = better if verdict == "faster" else worse
        head = word if said else f"{other} is {word} than {baseline}{by}"
        said.append(f"{head} in {share(found, of)} ({span(found, better, worse)})")
    if brief and said:
        return ", ".join(said)
    said += [
        f"{words} in {where(summary, by_verdict[verdict], of)}"
        for verdict, words in WITHOUT_WINNER.items()
        if verdict in by_verdict
    ]
    return (
        ", ".join(said)
        if WON & by_verdict.keys()
        else f"{other} against {baseline}: " + (", ".join(said))
    )


def share(some: Sequence[PairSummary], of: Sequence[PairSummary]) -> str:
    if len(some) == len(of):
        return "both" if len(of) == 2 else f"all {len(of)}"
    return f"{len(some)} of {len(of)}"


def span(found: Sequence[PairSummary], better: str, worse: str) -> str:
    """The smallest and largest difference, as in "8 to 31 %", or both in times if one is large."""
    ratios = sorted((one.ratio, one.low, one.high) for one in found if one.ratio)
    if ratios and ratios[0][0] < 1:
        ratios.reverse()
    ends = (ratios[0], ratios[-1])
    if any(is_times(ratio) for ratio, _, _ in ends):
        least, most = (times(ratio, low=low, high=high) for ratio, low, high in ends)
        tail = f" times as {as_well(better)}"
    else:
        least, most = (changes(ratio, low=low, high=high, better="", worse="").removesuffix(" % ")
                       for ratio, low, high in ends)  # fmt: skip
        tail = " %"
    return (least if least == most else f"{least} to {most}") + tail


def where(summary: Summary, some: Sequence[PairSummary], of: Sequence[PairSummary]) -> str:
    """Up to two cases by what distinguishes them from the others; more are only counted."""
    if len(some) > 2 or len(some) == len(of):
        return share(some, of)
    less = shared(summary)
    return " and ".join(subject(summary, one, less=less) for one in some)


def against_first(summary: Summary) -> list[PairSummary]:
    """The comparisons with the first framework: the headline's (the page's table has all)."""
    return [pair for pair in summary.comparisons if pair.against_first]


def shared(summary: Summary) -> frozenset[str]:
    """The axes in which the comparisons do not differ."""
    return alike(axes_of([cases_of(summary, pair)[1] for pair in summary.comparisons]))


def subject(summary: Summary, pair: PairSummary, *, less: Collection[str] = ()) -> str:
    """What was compared: the axes without the frameworks, and without those in `less`.

    Compilers are named only if a framework was compared under several.
    """
    own = {"compiler", *labelled_axes(summary.cases)}
    what = distinguished(cases_of(summary, pair)[1], less, {*own, *unspoken(summary.cases)})
    if one_compiler_each(summary.cases):
        return what
    return ", ".join(filter(None, [what, compilers(summary, pair)]))


def compilers(summary: Summary, pair: PairSummary) -> str:
    """The compiler of the other framework, and that of the baseline if it differs."""
    baseline, other = (case.axes.compiler for case in cases_of(summary, pair))
    return other if other == baseline else f"{other} against {baseline}"
