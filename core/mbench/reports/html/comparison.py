"""What a reader should know first: who is faster, by how much, how sure, and on equal work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract.metric import THROUGHPUT
from mbench.reports.cases import asked_metrics
from mbench.reports.grid import Grid
from mbench.reports.headline import against_first, compilers, labels, shared, subject
from mbench.reports.html.parts import LONG, Badge, Chart, Figure, Section
from mbench.reports.remark_text import lines
from mbench.reports.remarks import of_kind
from mbench.reports.text import interval
from mbench.reports.verdicts import (
    disturbed,
    equality,
    evidence,
    figure,
    further,
    median,
    noise_note,
    sentence,
    together,
    unproven,
)
from mbench.results.proof import EQUAL
from mbench.spec.fixed_steps import Counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.reports.remarks import Remark
    from mbench.results.pair_summary import PairSummary
    from mbench.results.summary import Summary

__all__ = ["badges", "comparison_section"]

# More than these are counted, and stand in the table.
MOST_BADGES = 6
KINDS = {"faster": "faster", "slower": "slower", "alike": "none", "no difference shown": "none"}


def badges(summary: Summary) -> list[Badge]:
    """The verdicts, where they are few enough to be read one by one."""
    comparisons = against_first(summary)
    if len(comparisons) > MOST_BADGES:
        return []
    found, less = [], shared(summary)
    for pair in comparisons:
        details = (evidence(pair), noise_note(pair), further(pair), disturbed(pair))
        found.append(
            Badge(
                about=subject(summary, pair, less=less),
                text=str(sentence(summary, pair)),
                details=[str(text) for text in details if text],
                proof=str(equality(summary, pair)),
                proven=pair.equal_work in EQUAL,
                kind=KINDS.get(pair.verdict or "", "open"),
            )
        )
    return found


def verdict_cell(pair: PairSummary) -> str:
    """The verdict, and why where there is none."""
    if pair.verdict is None:
        return f"not compared: {pair.reason}"
    why = pair.undetermined
    said = f"{pair.verdict}: {why}" if why else str(pair.verdict)
    return said + (" (disturbed)" if pair.disturbances else "")


def proof_cell(summary: Summary, pair: PairSummary) -> str:
    """Whether equal work is proven, and why not; the errors stand in the proof's own table."""
    if pair.equal_work in EQUAL:
        return str(pair.equal_work)
    return str(unproven(summary, pair))


COLUMNS = ("case", "framework", "baseline", "compilers", "ratio", "95 % interval", "pairs",
           "median of rounds", "verdict", "equal work")  # fmt: skip
NUMERIC = frozenset({"ratio", "95 % interval", "pairs", "median of rounds"})


def comparison_section(summary: Summary, found: Sequence[Remark]) -> Section | None:
    """Every ratio with its interval and the process pairs that it is built over."""
    table, less = [], shared(summary)
    for pair in summary.comparisons:
        baseline, other = labels(summary, pair)
        table.append(
            [
                subject(summary, pair, less=less), other, baseline,
                compilers(summary, pair), figure(pair),
                interval(pair.low, pair.high), str(pair.process_pairs),
                median(pair), verdict_cell(pair),
                proof_cell(summary, pair),
            ]
        )  # fmt: skip
    if not table:
        return None
    others = [metric.title for metric in asked_metrics(summary).values()]
    what = " and ".join(others) or THROUGHPUT.title
    how = f"How many times as good as the baseline by {what}."
    grid = Grid(f"Ratios of {what}", COLUMNS, table, numeric=NUMERIC)
    shown = Figure(
        charts=ratios(summary), table=grid.without_repeated("case"), folded=len(table) > LONG
    )
    return Section(
        "comparison",
        "How much faster",
        (how if others else "Throughput divided by the baseline's.")
        + " A thick line is the 95 % interval over fresh process pairs, a small dot one pair. "
        "Where the line crosses 1, no difference is shown.",
        [shown],
        notes=[*filter(None, [together(summary)]), *map(str, lines(of_kind(found, Counted)))],
    )


def ratios(summary: Summary) -> list[Chart]:
    """A row for each ratio, named by what tells it from the others."""
    known = [one for one in summary.comparisons if one.ratio is not None]
    if not known:
        return []
    less = shared(summary)
    baselines = {labels(summary, one)[0] for one in known}
    one_pair = len({labels(summary, one) for one in known}) == 1
    rows = []
    for pair in known:
        baseline, other = labels(summary, pair)
        about = subject(summary, pair, less=less)
        name = other if len(baselines) == 1 else f"{other} / {baseline}"
        if one_pair and about:
            about, name = "", about
        rows.append(
            {
                "group": about, "name": name, "series": other, "value": pair.ratio,
                "low": pair.low, "high": pair.high, "dots": pair.pairs,
                "text": figure(pair),
            }
        )  # fmt: skip
    than = baselines.pop() if len(baselines) == 1 else "the second"
    what = f"{labels(summary, known[0])[1]}, times" if one_pair else "times"
    label = f"\u2190 slower \u00b7 {what} as fast as {than} \u00b7 faster \u2192"
    data = {"kind": "intervals", "rows": rows, "log": True, "reference": 1, "label": label}
    return [Chart(data, f"{len(rows)} ratios of throughput with their 95 % intervals.")]
