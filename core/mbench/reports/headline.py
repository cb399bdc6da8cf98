"""A whole run in a line or a few: which framework is faster, in how many cases, and by how much."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rich.text import Text

from mbench.console import counted
from mbench.contract.axes import alike, name
from mbench.reports.cases import (
    asked_metrics,
    axes_of,
    distinguished,
    labelled_axes,
    one_compiler_each,
    unspoken,
)
from mbench.reports.terminal import joined
from mbench.reports.text import interval, number, percent
from mbench.reports.verdicts import cases_of, fell_short, sentence, setup
from mbench.results.case_summary import INTERRUPTED
from mbench.results.proof import EQUAL
from mbench.stats import ALIKE, VERDICTS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from mbench.results.case_summary import CaseSummary
    from mbench.results.pair_summary import PairSummary
    from mbench.results.summary import Summary

__all__ = ["against_first", "compilers", "headline", "labels", "shared", "subject",
           "summary_lines"]  # fmt: skip

Labels = tuple[str, str]

MOST_LINES = 5
# More frameworks than these are told by whom they beat, without the cases that show nothing.
MOST_PAIRS = 3
WON = {"faster", "slower"}
WITHOUT_WINNER = {
    "alike": f"alike within {percent(ALIKE)}",
    "no difference shown": "no difference shown",
    "depends on stalls": "depends on stalls",
    "undetermined": "undetermined",
    None: "not compared",
}


def headline(summary: Summary) -> str:
    """In one line. Frameworks are called by their labels."""
    pairs: dict[Labels, list[PairSummary]] = {}
    compared = against_first(summary)
    for pair in compared:
        pairs.setdefault(labels(summary, pair), []).append(pair)
    if len(compared) == 1:
        return str(sentence(summary, compared[0]))
    if pairs:
        one_case = len(pairs) == len(compared)
        said = [of_one_case(summary, pairs)] if one_case else [
            of_several(summary, who, of, brief=len(pairs) > MOST_PAIRS)
            for who, of in pairs.items()
        ]  # fmt: skip
        manner = setup(compared)
        return ". ".join([*said, manner[:1].upper() + manner[1:]] if manner else said)
    frameworks = ", ".join(dict.fromkeys(case.label for case in summary.cases))
    return f"{frameworks}, compared with nothing" if summary.cases else "Nothing was measured"


def labels(summary: Summary, pair: PairSummary) -> Labels:
    """The baseline and the other, as the cases are called."""
    baseline, other = cases_of(summary, pair)
    return baseline.label, other.label


def of_one_case(summary: Summary, pairs: Mapping[Labels, list[PairSummary]]) -> str:
    """Several frameworks against the first: each winner by its factor, then the rest."""
    said: list[str] = []
    rest: dict[tuple[str | None, str], list[str]] = {}
    for (baseline, other), (pair,) in pairs.items():
        if pair.verdict in WON:
            said.append(str(sentence(summary, pair, tier=False)))
        else:
            rest.setdefault((pair.verdict, baseline), []).append(other)
    said += [
        f"{' and '.join(others)} against {baseline}: {WITHOUT_WINNER[verdict]}"
        for (verdict, baseline), others in rest.items()
    ]
    return "; ".join(said)


def of_several(summary: Summary, who: Labels, of: list[PairSummary], *, brief: bool) -> str:
    """Two frameworks over several cases: how often each wins, and unless `brief`, the rest."""
    said: list[str] = []
    by_verdict: dict[str | None, list[PairSummary]] = {}
    for pair in of:
        by_verdict.setdefault(pair.verdict, []).append(pair)
    for verdict in sorted(WON & by_verdict.keys(), key=lambda won: -len(by_verdict[won])):
        winner, loser = reversed(who) if verdict == "faster" else who
        won = by_verdict[verdict]
        metric = asked_metrics(summary).get(won[0].metric or "")
        than = "" if said else f" than {loser}" + (f" by {metric.title}" if metric else "")
        better = metric.faster if metric else "faster"
        said.append(f"{winner} is {better}{than} in {share(won, of)}: {span(won)}")
    if brief and said:
        return "; ".join(said)
    rest = "; ".join(
        f"{words} in {where(summary, by_verdict[verdict], of)}"
        for verdict, words in WITHOUT_WINNER.items()
        if verdict in by_verdict
    )
    if not said:
        return f"{who[1]} against {who[0]}: {rest}"
    return "; ".join(filter(None, [*said, rest]))


def share(some: Sequence[PairSummary], of: Sequence[PairSummary]) -> str:
    if len(some) == len(of):
        return "both" if len(of) == 2 else f"all {len(of)}"
    return f"{len(some)} of {len(of)}"


def span(won: Iterable[PairSummary]) -> str:
    """How many times as fast the winner is, at least and at most."""
    factors = [max(one.ratio, 1 / one.ratio) for one in won if one.ratio]
    least, most = number(min(factors), 3), number(max(factors), 3)
    return f"{least} times" if least == most else f"{least} to {most} times"


def where(summary: Summary, some: Sequence[PairSummary], of: Sequence[PairSummary]) -> str:
    """Two cases by what distinguishes them from the others, more by their number."""
    if len(some) > 2 or len(some) == len(of):
        return share(some, of)
    less = shared(summary)
    return " and ".join(subject(summary, one, less=less) for one in some)


def against_first(summary: Summary) -> list[PairSummary]:
    """The comparisons that a headline is about; a table has those of all pairs."""
    return [pair for pair in summary.comparisons if pair.against_first]


def shared(summary: Summary) -> frozenset[str]:
    """The axes in which the comparisons do not differ."""
    return alike(axes_of([cases_of(summary, pair)[1] for pair in summary.comparisons]))


def subject(summary: Summary, pair: PairSummary, *, less: Collection[str] = ()) -> str:
    """What was compared: the axes without the frameworks, and without those in `less`.

    Compilers are named where a framework was compared under several; else each has its own.
    """
    own = {"compiler", *labelled_axes(summary.cases)}
    what = distinguished(cases_of(summary, pair)[1], less, {*own, *unspoken(summary.cases)})
    if one_compiler_each(summary.cases):
        return what
    return ", ".join(filter(None, [what, compilers(summary, pair)]))


def compilers(summary: Summary, pair: PairSummary) -> str:
    """Of the other and of the baseline."""
    baseline, other = (case.axes.compiler for case in cases_of(summary, pair))
    return other if other == baseline else f"{other} against {baseline}"


def summary_lines(summary: Summary) -> Sequence[str | Text]:
    """The last lines of a report: one for each comparison, or for each case where nothing was
    compared; counts of many.
    """
    pairs = summary.comparisons
    if not pairs:
        return of_cases(summary.cases)
    if len(pairs) > MOST_LINES:
        pairs = against_first(summary)
    if len(pairs) > MOST_LINES:
        return counts_of(pairs)
    less = {"compiler", *unspoken(summary.cases)}
    titles = {name(pair.shared, less=less) for pair in pairs}
    whole = [pair for pair in pairs if not fell_short(summary, pair)]
    lines: list[str | Text] = [
        Text.assemble(f"{name(pair.shared, less=less)}: " if len(titles) > 1 else "",
                      of_comparison(summary, pair, tier=len(whole) == 1))
        for pair in whole
    ]  # fmt: skip
    short = {case.label: ended(case) for pair in pairs
             for case in fell_short(summary, pair)}  # fmt: skip
    if len(lines) > 1 and (manner := setup(whole)):
        lines.append(manner)
    if short:
        lines.append("not compared: " + ", ".join(f"{who} {how}" for who, how in short.items()))
    return lines


def of_cases(cases: Sequence[CaseSummary]) -> list[str | Text]:
    if len(cases) > MOST_LINES:
        counts = Counter(case.outcome for case in cases)
        return [f"{counted(len(cases), 'case')}: {listed(counts, counts)}"]
    return [*map(of_case, cases)]


def of_case(case: CaseSummary) -> Text:
    speed = case.throughput
    if case.outcome != "ok" or speed is None:
        return Text.assemble(f"{case.label}: ", (case.outcome, "failed"))
    ends = interval(speed.low, speed.high)
    said = f"{case.label}: {number(speed.value)} {speed.unit}"
    return Text(f"{said} ({ends})" if ends else said)


def ended(case: CaseSummary) -> str:
    """How a case fell short."""
    return "was interrupted" if case.reason == INTERRUPTED else f"is {case.outcome}"


def of_comparison(summary: Summary, pair: PairSummary, *, tier: bool) -> Text:
    said, state = sentence(summary, pair, tier=tier, ends=True), pair.equal_work
    proof = (state, "proven") if state in EQUAL else (state.upper(), "unproven")
    disturbed = Text("DISTURBED" * bool(pair.disturbances), "disturbed")
    return joined([said, Text.assemble("equal work: ", proof), disturbed])


def counts_of(pairs: Sequence[PairSummary]) -> list[str | Text]:
    """How often which verdict, for each framework against each baseline."""
    found: dict[str, list[PairSummary]] = {}
    for one in pairs:
        found.setdefault(f"{one.framework} against {one.baseline}", []).append(one)
    if len(found) > MOST_LINES:
        found = {"all": list(pairs)}
    return [Text.assemble(f"{who} in {counted(len(of), 'comparison')}: ", tally(of))
            for who, of in found.items()]  # fmt: skip


def tally(pairs: Sequence[PairSummary]) -> Text:
    counts = Counter(one.verdict or "not compared" for one in pairs)
    unproven = sum(one.verdict is not None and one.equal_work not in EQUAL for one in pairs)
    disturbed = sum(bool(one.disturbances) for one in pairs if one.verdict)
    return joined([
        listed(counts, [*VERDICTS, "not compared"]),
        Text.assemble("equal work ", ("NOT PROVEN", "unproven"), f" in {unproven}")
        if unproven else "",
        Text.assemble(("DISTURBED", "disturbed"), f" {disturbed}") if disturbed else "",
    ])  # fmt: skip


def listed(counts: Counter[str], order: Iterable[str]) -> str:
    return ", ".join(f"{counts[word]} {word}" for word in order if counts[word])
