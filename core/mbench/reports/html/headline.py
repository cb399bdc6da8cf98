"""What a reader should know first: who is faster, by how much, how sure, and on equal work."""

from __future__ import annotations

from collections import Counter
from typing import Any

from mbench.contract.axes import hushed, key
from mbench.reports.grid import Grid
from mbench.reports.html.parts import LONG, Badge, Figure, Section, named, title_of
from mbench.reports.remarks import equality
from mbench.reports.text import interval, number
from mbench.reports.verdicts import (
    disturbed,
    evidence,
    further,
    noise_note,
    not_ruled_out,
    sentence,
    together,
)
from mbench.stats import VERDICTS

__all__ = ["badges", "comparison_section", "headline", "subject"]

Document = dict[str, Any]

# More than these are counted, and stand in the table.
MOST_BADGES = 6
KINDS = {"faster": "faster", "slower": "slower", "alike": "none", "no difference shown": "none"}
WITHOUT_WINNER = {
    "alike": "alike:",
    "no difference shown": "no difference shown for",
    "depends on stalls": "depends on stalls for",
    "undetermined": "undetermined:",
    None: "not compared:",
}


def subject(document: Document, comparison: Document) -> str:
    """What was compared: the axes without the frameworks.

    A compiler is named where a framework was compared under several; else each has its own.
    """
    case, cases = document["cases"][comparison["cases"][1]], document["cases"]
    less = hushed(cases)
    rivals = [
        other
        for other in cases
        if other["label"] == case["label"]
        and key(other, less=("compiler",)) == key(case, less=("compiler",))
    ]
    return named(case, less=less if len(rivals) > 1 else {"compiler", *less})


def names(document: Document, comparison: Document) -> tuple[str, str]:
    """The baseline and the other, as people call them."""
    baseline, other = (title_of(document["cases"][at]) for at in comparison["cases"])
    return baseline, other


def compilers(document: Document, comparison: Document) -> str:
    """Of the other and of the baseline."""
    baseline, other = (document["cases"][at]["compiler"] for at in comparison["cases"])
    return str(other) if other == baseline else f"{other} against {baseline}"


def told(document: Document, comparison: Document) -> str:
    baseline, other = names(document, comparison)
    return sentence(comparison, baseline=baseline, other=other)


def detail(comparison: Document) -> str:
    return "; ".join(
        filter(None, (say(comparison) for say in (evidence, noise_note, further, disturbed)))
    )


def against_first(document: Document) -> list[Document]:
    """The comparisons that the head of the page tells; its table has those of all pairs."""
    return [comparison for comparison in document["comparisons"] if comparison["against_first"]]


def badges(document: Document) -> list[Badge]:
    """The verdicts, where they are few enough to be read one by one."""
    comparisons = against_first(document)
    if len(comparisons) > MOST_BADGES:
        return []
    subjects = [subject(document, comparison) for comparison in comparisons]
    return [
        Badge(
            about=text if len(set(subjects)) > 1 else "",
            text=told(document, comparison),
            detail=detail(comparison),
            proof=equality(document, comparison),
            proven=comparison["equal_work"] == "proven",
            kind=KINDS.get(comparison["verdict"], "open"),
        )
        for text, comparison in zip(subjects, comparisons, strict=True)
    ]


def headline(document: Document) -> str:
    """The whole run in one line."""
    comparisons, cases = against_first(document), document["cases"]
    if len(comparisons) == 1:
        return told(document, comparisons[0])
    if comparisons and len({comparison["cases"][0] for comparison in comparisons}) == 1:
        return against_one(document)
    if comparisons:
        counts = Counter(comparison["verdict"] or "not compared" for comparison in comparisons)
        order = [*VERDICTS, "not compared"]
        parts = [f"{counts[verdict]} {verdict}" for verdict in order if counts[verdict]]
        return f"{len(comparisons)} comparisons: {', '.join(parts)}"
    labels = ", ".join(dict.fromkeys(map(title_of, cases)))
    return f"{labels}, compared with nothing" if cases else "Nothing was measured"


def against_one(document: Document) -> str:
    """Several frameworks against one baseline."""
    known: list[str] = []
    others: dict[str, list[str]] = {}
    for comparison in against_first(document):
        baseline, other = names(document, comparison)
        if comparison["verdict"] in ("faster", "slower"):
            known.append(f"{other} {number(comparison['ratio'], 3)} times")
        else:
            if comparison["verdict"] == "no difference shown":
                other += f" ({not_ruled_out(comparison)})"
            others.setdefault(WITHOUT_WINNER[comparison["verdict"]], []).append(other)
    parts = [", ".join(known) + " as fast"] if known else []
    parts += [f"{words} {', '.join(others[words])}" for words in WITHOUT_WINNER.values()
              if words in others]  # fmt: skip
    return f"Against {baseline}: {'; '.join(parts)}"


def verdict_cell(comparison: Document) -> str:
    """The verdict, and why where there is none."""
    if comparison["verdict"] is None:
        return f"not compared: {comparison['reason']}"
    why = comparison["undetermined"]
    return f"{comparison['verdict']}: {why}" if why else str(comparison["verdict"])


def comparison_section(document: Document) -> Section | None:
    """Every ratio with its interval and the process pairs that it is built over."""
    rows, table = [], []
    for comparison in document["comparisons"]:
        baseline, other = names(document, comparison)
        what = subject(document, comparison)
        table.append(
            [
                what, other, baseline, compilers(document, comparison),
                number(comparison["ratio"]),
                interval(comparison["low"], comparison["high"]),
                str(comparison["process_pairs"]),
                number(comparison["median"]),
                verdict_cell(comparison)
                + (" (disturbed)" if comparison["disturbances"] else ""),
                equality(document, comparison).removeprefix("equal work: "),
            ]
        )  # fmt: skip
        if comparison["ratio"] is not None:
            rows.append(
                {
                    "group": f"{what}, against {baseline}", "name": other, "series": other,
                    "value": comparison["ratio"], "low": comparison["low"],
                    "high": comparison["high"], "dots": comparison["pairs"],
                    "text": number(comparison["ratio"]),
                }
            )  # fmt: skip
    if not table:
        return None
    columns = ("case", "framework", "baseline", "compilers", "ratio", "95 % interval",
               "process pairs", "median of rounds", "verdict", "equal work")  # fmt: skip
    if len({row["group"] for row in rows}) == 1:  # which the page's head says
        rows = [{**row, "group": ""} for row in rows]
    figure = Figure(
        chart={"kind": "intervals", "rows": rows, "log": True, "reference": 1,
               "label": "times as fast as the baseline"} if rows else None,
        alt=f"{len(rows)} ratios of throughput to the baseline with their 95 % intervals.",
        table=Grid("Ratios of throughput", columns, table,
                   numeric=frozenset({"ratio", "95 % interval", "process pairs",
                                      "median of rounds"}))
        .without_repeated("case", "baseline"),
        folded=len(table) > LONG,
    )  # fmt: skip
    return Section(
        "comparison",
        "How much faster",
        "Throughput divided by the baseline's. A thick line is the 95 % interval over fresh "
        "process pairs, a small dot one pair. Where the line crosses 1, no difference is shown.",
        [figure],
        notes=[said] if (said := together(document)) else [],
    )
