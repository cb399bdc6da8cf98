"""Who is faster and by how much: every ratio, always of the other framework to the baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.console import counted
from mbench.contract.metric import THROUGHPUT
from mbench.reports.cases import asked_metrics
from mbench.reports.grid import Grid
from mbench.reports.headline import against_first, compilers, labels, shared, subject
from mbench.reports.html.parts import LONG, Chart, Figure, Section
from mbench.reports.text import interval, number, percent
from mbench.reports.verdicts import cases_of, figure, further, median, together, unproven
from mbench.results.proof import EQUAL
from mbench.stats import FEWEST

if TYPE_CHECKING:
    from mbench.results.pair_summary import PairSummary
    from mbench.results.summary import Summary

__all__ = ["against", "comparison_section", "ratios"]

CAPTION = (
    "Thick line: 95 % interval over fresh process pairs. Small dots: single pairs. "
    "Where the thick line crosses 1, no difference is shown."
)
BARE = f"Small dots: single process pairs. An interval needs {FEWEST}."


def against(summary: Summary, pair: PairSummary) -> list[str]:
    """The figures of both, as in "9.99 against 8.98 images/s"; none where one is not known."""
    baseline, other = (
        case.metrics.get(pair.metric or "") or case.throughput for case in cases_of(summary, pair)
    )
    if baseline is None or other is None:
        return []
    return [f"{number(other.value)} against {number(baseline.value)} {baseline.unit}"]


def verdict_cell(pair: PairSummary) -> str:
    """The verdict, or why there is none."""
    if pair.verdict is None:
        return f"not compared: {pair.reason}"
    why = pair.undetermined
    said = f"no answer yet: {why}" if why else str(pair.verdict)
    return said + (" (disturbed)" if pair.disturbances else "")


def proof_cell(summary: Summary, pair: PairSummary) -> str:
    """Whether equal work is proven, and why not; the errors stand in the proof's own table."""
    if pair.equal_work in EQUAL:
        return str(pair.equal_work)
    return str(unproven(summary, pair))


COLUMNS = ("case", "framework", "baseline", "compilers", "ratio", "95 % interval", "pairs",
           "median of rounds", "detectable", "verdict", "equal work")  # fmt: skip
NUMERIC = frozenset({"ratio", "95 % interval", "pairs", "median of rounds", "detectable"})


def comparison_section(summary: Summary) -> Section | None:
    """Every ratio with its interval and the process pairs that it is computed from."""
    less = shared(summary)
    table = []
    for pair in summary.comparisons:
        baseline, other = labels(summary, pair)
        table.append(
            [
                subject(summary, pair, less=less), other, baseline,
                compilers(summary, pair), figure(pair),
                interval(pair.low, pair.high), str(pair.process_pairs), median(pair),
                "" if pair.detectable is None else percent(pair.detectable),
                verdict_cell(pair), proof_cell(summary, pair),
            ]
        )  # fmt: skip
    if not table:
        return None
    others = [metric.title for metric in asked_metrics(summary).values()]
    what = " and ".join(others) or THROUGHPUT.title
    grid = Grid(f"Ratios of {what}", COLUMNS, table, numeric=NUMERIC).without_repeated("case")
    empty = [name for at, name in enumerate(grid.columns) if not any(row[at] for row in grid.rows)]
    # For a single pair, the headline and the chips already say these.
    said = ("verdict", "equal work") if len(table) == 1 else ()
    how = f"How many times as good as the baseline by {what}." if others else (
        "The framework's throughput divided by the baseline's."
    )  # fmt: skip
    detectable = " Detectable: the smallest difference that this many pairs would show."
    lead = how + detectable * ("detectable" not in empty)
    notes = [line for pair in against_first(summary) if (line := further(pair))][:1]
    return Section(
        "comparison", "How much faster", lead,
        [Figure(table=grid.without(*empty, *said), folded=len(table) > LONG)],
        notes=[*notes, *filter(None, [together(summary)])],
    )  # fmt: skip


def ratios(summary: Summary) -> tuple[Chart | None, str]:
    """A row for each ratio that the headline is about, named by what tells it from the others; and
    how to read it."""
    known = [one for one in against_first(summary) if one.ratio is not None]
    if not known:
        return None, ""
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
    metric = asked_metrics(summary).get(known[0].metric or "")
    better, worse, good = (
        (metric.faster, metric.slower, "good") if metric else ("faster", "slower", "fast")
    )
    than = baselines.pop() if len(baselines) == 1 else "the second"
    what = f"{labels(summary, known[0])[1]}, times" if one_pair else "times"
    label = f"\u2190 {worse} \u00b7 {what} as {good} as {than} \u00b7 {better} \u2192"
    data = {"kind": "intervals", "rows": rows, "log": True, "reference": 1, "label": label}
    title = metric.title if metric else THROUGHPUT.title
    alt = f"{counted(len(rows), 'ratio')} of {title} to {than}, with 95 % intervals."
    if any(pair.low is not None for pair in known):
        return Chart(data, alt), CAPTION
    return Chart(data, alt), BARE if any(pair.pairs for pair in known) else ""
