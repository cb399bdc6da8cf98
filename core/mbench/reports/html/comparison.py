"""What a reader should know first: who is faster, by how much, how sure, and on equal work."""

from __future__ import annotations

from typing import Any

from mbench.reports.grid import Grid
from mbench.reports.headline import against_first, compilers, shared, subject
from mbench.reports.html.parts import LONG, Badge, Chart, Figure, Section
from mbench.reports.remarks import equality, protocol_line, unproven
from mbench.reports.text import interval
from mbench.reports.verdicts import (
    disturbed,
    evidence,
    figure,
    further,
    noise_note,
    sentence,
    setup,
    together,
)
from mbench.results.proof import EQUAL

__all__ = ["badges", "comparison_section"]

Document = dict[str, Any]

# More than these are counted, and stand in the table.
MOST_BADGES = 6
KINDS = {"faster": "faster", "slower": "slower", "alike": "none", "no difference shown": "none"}


def names(document: Document, comparison: Document) -> tuple[str, str]:
    """The baseline and the other, as people call them."""
    baseline, other = (document["cases"][at]["label"] for at in comparison["cases"])
    return baseline, other


def badges(document: Document) -> list[Badge]:
    """The verdicts, where they are few enough to be read one by one."""
    comparisons = against_first(document)
    if len(comparisons) > MOST_BADGES:
        return []
    found, less = [], shared(document)
    once = len(comparisons) > 1 and setup(comparisons)  # the headline says it
    for comparison in comparisons:
        say = (evidence, noise_note, further, disturbed)
        found.append(
            Badge(
                about=subject(document, comparison, less=less),
                text=str(sentence(document, comparison, tier=not once)),
                details=[str(text) for text in (of(comparison) for of in say) if text],
                proof=str(equality(document, comparison)),
                proven=comparison["equal_work"] in EQUAL,
                kind=KINDS.get(comparison["verdict"], "open"),
            )
        )
    return found


def verdict_cell(comparison: Document) -> str:
    """The verdict, and why where there is none."""
    if comparison["verdict"] is None:
        return f"not compared: {comparison['reason']}"
    why = comparison["undetermined"]
    said = f"{comparison['verdict']}: {why}" if why else str(comparison["verdict"])
    return said + (" (disturbed)" if comparison["disturbances"] else "")


def proof_cell(document: Document, comparison: Document) -> str:
    """Whether equal work is proven, and why not; the errors stand in the proof's own table."""
    if comparison["equal_work"] in EQUAL:
        return str(comparison["equal_work"])
    return str(unproven(document, comparison))


COLUMNS = ("case", "framework", "baseline", "compilers", "ratio", "95 % interval", "pairs",
           "median of rounds", "verdict", "equal work")  # fmt: skip
NUMERIC = frozenset({"ratio", "95 % interval", "pairs", "median of rounds"})


def comparison_section(document: Document) -> Section | None:
    """Every ratio with its interval and the process pairs that it is built over."""
    table, less = [], shared(document)
    for comparison in document["comparisons"]:
        baseline, other = names(document, comparison)
        table.append(
            [
                subject(document, comparison, less=less), other, baseline,
                compilers(document, comparison), figure(comparison),
                interval(comparison["low"], comparison["high"]), str(comparison["process_pairs"]),
                figure(comparison, "median"), verdict_cell(comparison),
                proof_cell(document, comparison),
            ]
        )  # fmt: skip
    if not table:
        return None
    grid = Grid("Ratios of throughput", COLUMNS, table, numeric=NUMERIC)
    shown = Figure(
        charts=ratios(document), table=grid.without_repeated("case"), folded=len(table) > LONG
    )
    return Section(
        "comparison",
        "How much faster",
        "Throughput divided by the baseline's. A thick line is the 95 % interval over fresh "
        "process pairs, a small dot one pair. Where the line crosses 1, no difference is shown.",
        [shown],
        notes=[text for text in (together(document), protocol_line(document)) if text],
    )


def ratios(document: Document) -> list[Chart]:
    """A row for each ratio, named by what tells it from the others."""
    known = [one for one in document["comparisons"] if one["ratio"] is not None]
    if not known:
        return []
    less = shared(document)
    baselines = {names(document, one)[0] for one in known}
    one_pair = len({names(document, one) for one in known}) == 1
    rows = []
    for comparison in known:
        baseline, other = names(document, comparison)
        about = subject(document, comparison, less=less)
        name = other if len(baselines) == 1 else f"{other} / {baseline}"
        if one_pair and about:
            about, name = "", about
        rows.append(
            {
                "group": about, "name": name, "series": other, "value": comparison["ratio"],
                "low": comparison["low"], "high": comparison["high"], "dots": comparison["pairs"],
                "text": figure(comparison),
            }
        )  # fmt: skip
    than = baselines.pop() if len(baselines) == 1 else "the second"
    what = f"{names(document, known[0])[1]}, times" if one_pair else "times"
    label = f"\u2190 slower \u00b7 {what} as fast as {than} \u00b7 faster \u2192"
    data = {"kind": "intervals", "rows": rows, "log": True, "reference": 1, "label": label}
    return [Chart(data, f"{len(rows)} ratios of throughput with their 95 % intervals.")]
