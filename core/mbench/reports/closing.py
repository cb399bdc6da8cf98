"""The last lines of a report: what came of it, in a handful of lines."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from rich.text import Text

from mbench.console import counted
from mbench.contract.axes import hushed, name
from mbench.reports.remarks import fell_short
from mbench.reports.terminal import joined
from mbench.reports.text import interval, number
from mbench.reports.verdicts import sentence, setup
from mbench.results.proof import EQUAL
from mbench.stats import VERDICTS

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["summary_lines"]

Document = dict[str, Any]

MOST_LINES = 5


def summary_lines(document: Document) -> Sequence[str | Text]:
    """A line for each comparison, or for each case where nothing was compared; counts of many."""
    cases, comparisons = document["cases"], document["comparisons"]
    if not comparisons:
        if len(cases) > MOST_LINES:
            counts = Counter(case["outcome"] for case in cases)
            return [f"{counted(len(cases), 'case')}: {listed(counts, list(counts))}"]
        return [*map(of_case, cases)]
    if len(comparisons) > MOST_LINES:
        comparisons = [one for one in comparisons if one["against_first"]]
    if len(comparisons) > MOST_LINES:
        return counts_of(document, comparisons)
    less = {"compiler", *hushed(cases)}
    titles = {name(one, less=less) for one in comparisons}
    told = [one for one in comparisons if not fell_short(document, one)]
    lines: list[str | Text] = [
        Text.assemble(f"{name(one, less=less)}: " if len(titles) > 1 else "",
                      of_comparison(document, one, tier=len(told) == 1))
        for one in told
    ]  # fmt: skip
    short = {case["label"]: ended(case) for one in comparisons
             for case in fell_short(document, one)}  # fmt: skip
    said = ", ".join(f"{label} {how}" for label, how in short.items())
    if len(lines) > 1 and (manner := setup(told)):
        lines.append(manner)
    return lines + ([f"not compared: {said}"] if said else [])


def ended(case: Document) -> str:
    """How a case fell short."""
    interrupted = str(case["reason"]).startswith("interrupted")
    return "was interrupted" if interrupted else f"is {case['outcome']}"


def of_case(case: Document) -> str | Text:
    if case["outcome"] != "ok":
        return Text.assemble(f"{case['label']}: ", (case["outcome"], "failed"))
    speed = case["throughput"]
    ends = interval(speed["low"], speed["high"])
    return f"{case['label']}: {number(speed['value'])} {speed['unit']}" + f" ({ends})" * bool(ends)


def of_comparison(document: Document, comparison: Document, *, tier: bool) -> Text:
    said, state = sentence(document, comparison, tier=tier, ends=True), comparison["equal_work"]
    proof = (state, "proven") if state in EQUAL else (state.upper(), "unproven")
    disturbed = Text("DISTURBED" * bool(comparison["disturbances"]), "disturbed")
    return joined([said, Text.assemble("equal work: ", proof), disturbed])


def counts_of(document: Document, comparisons: list[Document]) -> list[str]:
    """How often which verdict, for each framework against each baseline."""
    pairs: dict[str, list[Document]] = {}
    for one in comparisons:
        pairs.setdefault(f"{one['framework']} against {one['baseline']}", []).append(one)
    if len(pairs) > MOST_LINES:
        pairs = {"all": comparisons}
    return [f"{who} in {counted(len(of), 'comparison')}: {tally(of)}" for who, of in pairs.items()]


def tally(comparisons: list[Document]) -> str:
    counts = Counter(one["verdict"] or "not compared" for one in comparisons)
    said = listed(counts, [*VERDICTS, "not compared"])
    unproven = sum(one["verdict"] is not None and one["equal_work"] not in EQUAL
                   for one in comparisons)  # fmt: skip
    if unproven:
        said += f"; equal work NOT PROVEN in {unproven}"
    disturbed = sum(bool(one["disturbances"]) for one in comparisons if one["verdict"])
    return said + (f"; DISTURBED {disturbed}" if disturbed else "")


def listed(counts: Counter[str], order: list[str]) -> str:
    return ", ".join(f"{counts[word]} {word}" for word in order if counts[word])
