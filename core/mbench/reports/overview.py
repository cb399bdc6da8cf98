"""A run at a glance: the answer, one table, whether to believe it, and what to do next."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Group
from rich.text import Text

from mbench.console import span
from mbench.contract.axes import AXES, alike
from mbench.reports.cases import (
    asked_metrics,
    axes_of,
    axis_cell,
    figure_columns,
    mfu_title,
    named,
    operator_table,
    unspoken,
)
from mbench.reports.grid import Grid
from mbench.reports.headline import against_first, headline
from mbench.reports.inputs import input_table
from mbench.reports.remark_text import lines
from mbench.reports.remarks import (
    FasterThanMemory,
    FewerThreads,
    Integers,
    Scaling,
    of_kind,
    remarks,
)
from mbench.reports.states import FAILED, OK, WARNING, State, states
from mbench.reports.terminal import GAP, INDENT, Sentences, paragraphs, wrapped
from mbench.reports.text import interval, number
from mbench.reports.verdicts import UNDECIDED, figure, further, price, setup
from mbench.results.gate import INCONCLUSIVE, judge_pair
from mbench.results.summary import SearchSummary
from mbench.spec.fixed_steps import Counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

    from mbench.reports.grid import Cell
    from mbench.results.case_summary import CaseSummary
    from mbench.results.pair_summary import PairSummary
    from mbench.results.summary import Summary

__all__ = ["StateTable", "duration", "next_steps", "overview", "overview_table", "subject_line"]

ROOM = 30
"""Titles get a column of their own if at least this many columns are left for prose."""
BAR = 15
"""Width of a bar."""
STYLES = {OK: "proven", WARNING: "disturbed", FAILED: "failed"}
WON = {"faster": "winner", "slower": "failed"}


def overview(summary: Summary) -> RenderableType:
    """The report of a run for a terminal."""
    found = remarks(summary)
    about = [
        subject_line(summary),
        *map(str, lines(of_kind(found, Counted, FewerThreads, Integers))),
    ]
    grown = lines(
        of_kind(found, Scaling, SearchSummary, FasterThanMemory), cases=len(summary.cases)
    )
    return paragraphs([
        Sentences([str(summary.gate)] if summary.gate else []),
        Group(answer(summary), Sentences([line for line in about if line])),
        overview_table(summary),
        operator_table(summary),
        input_table(summary),
        Sentences(grown),
        StateTable(known) if (known := states(summary, found)) else None,
        Sentences(next_steps(summary)),
    ])  # fmt: skip


def answer(summary: Summary) -> Sentences:
    """A sentence, or a line for each framework where several were compared."""
    return Sentences([Text(said, "winner" if " than " in said or " times as " in said
                           else "inconclusive")
                      for said in headline(summary).split("; ")])  # fmt: skip


def subject_line(summary: Summary) -> str:
    """What all cases share: the model, how it ran, and the settings of the frameworks."""
    if not summary.cases:
        return ""
    cases = axes_of(summary.cases)
    differ = {axis.name for axis in AXES} - alike(cases)
    less = {"compiler", *differ, *unspoken(summary.cases)}
    tier = setup(against_first(summary))
    return ", ".join(filter(None, [named(summary.cases[0], less=less), tier]))


def overview_table(summary: Summary) -> Grid:
    """A row for each case: its figures, and its ratio to the baseline with a bar."""
    pairs = against_first(summary)
    ratios = {pair.cases[1]: pair for pair in pairs}
    bases = {pair.cases[0] for pair in pairs}
    axes = [axis for axis in AXES if axis.name != "compiler"
            and axis.name not in alike(axes_of(summary.cases))
            and not (axis.setting and said_by_labels(summary, axis.name))]  # fmt: skip
    units = {case.throughput.unit for case in summary.cases if case.throughput}
    unit = units.pop() if len(units) == 1 else ""
    versus = {pair.baseline for pair in pairs}
    ratio = f"vs {versus.pop()}" if len(versus) == 1 else "ratio"
    scale = Scale.of(pairs)
    others = {title: cell for title, cell in figure_columns(summary).items()
              if title not in ("throughput", "95 % interval", mfu_title(summary))}  # fmt: skip
    columns = ["framework", *(axis.column for axis in axes), unit or "throughput"]
    columns += [ratio, "95 % interval", scale.head, "verdict"] if pairs else ["95 % interval"]
    rows: list[list[Cell]] = []
    for at, case in enumerate(summary.cases):
        row: list[Cell] = [who(case), *(axis_cell(axis, case) for axis in axes)]
        row.append(speed(case, unit))
        if pairs:
            row += compared(ratios.get(at), scale, base=at in bases)
        else:
            figures = case.throughput
            row.append(interval(figures.low, figures.high) if figures else "")
        row += [cell(case) if case.outcome == "ok" else "" for cell in others.values()]
        rows.append(row)
    columns += others
    made = Grid("", columns, rows, all_in=None, whole=frozenset({"framework", scale.head}),
                numeric=frozenset({unit or "throughput", ratio, "95 % interval", *others}),
                spare=("first step s", "verdict", "peak MiB", "step ms", scale.head),
                legend=legend(summary, ratio, unit, scale))  # fmt: skip
    empty = [column for at, column in enumerate(columns) if not any(row[at] for row in rows)]
    return made.without(*empty, *(["verdict"] if len(pairs) == 1 else []))


def legend(summary: Summary, ratio: str, unit: str, scale: Scale) -> dict[str, str]:
    """What the ratio and its bar mean, by column; empty if there is no ratio."""
    if not any(pair.ratio for pair in against_first(summary)):
        return {}
    more = "better" if asked_metrics(summary) or not unit else f"more {unit}"
    return {ratio: f"{ratio}: 1.5 is 50 % {more}",
            scale.head: "bar: + ratio, [==] its interval, | equal"}  # fmt: skip


def said_by_labels(summary: Summary, axis: str) -> bool:
    """Whether each label has only one value of `axis`, so that a column would only repeat it."""
    seen: dict[str, set[object]] = {}
    for case in summary.cases:
        seen.setdefault(case.label, set()).add(getattr(case.axes, axis, None).__repr__())
    return all(len(values) == 1 for values in seen.values())


def who(case: CaseSummary) -> Text:
    """The label of a case, and its compiler unless the label already names it."""
    compiler = case.axes.compiler
    more = "" if compiler in case.label.split(":") else f" {compiler}"
    return Text.assemble(case.label, (more, "dim"))


def speed(case: CaseSummary, unit: str) -> Text:
    if case.outcome != "ok":
        return Text(case.outcome, "failed")
    found = case.throughput
    return Text(f"{number(found.value)}{'' if unit else ' ' + found.unit}" if found else "")


def compared(pair: PairSummary | None, scale: Scale, *, base: bool) -> list[Cell]:
    """The ratio, its interval, the bar and the verdict."""
    if pair is None:
        return ["1" if base else "", "", scale.bare if base else "", ""]
    if pair.ratio is None:
        return ["", "", "", Text(pair.verdict or "not compared")]
    pair = without_spoilt(pair)
    verdict = pair.verdict or "not compared"
    style = WON.get(verdict, "inconclusive")
    return [figure(pair), interval(pair.low, pair.high), Text(scale.bar(pair), style),
            Text({"undetermined": "no answer yet"}.get(verdict, verdict), style)]  # fmt: skip


def without_spoilt(pair: PairSummary) -> PairSummary:
    """The pair without its interval if it is undetermined: that would be read as an answer."""
    return replace(pair, low=None, high=None) if pair.verdict == "undetermined" else pair


@dataclass(frozen=True)
class Scale:
    """A logarithmic axis that the bars of all rows share."""

    least: float
    most: float

    @classmethod
    def of(cls, pairs: Sequence[PairSummary]) -> Scale:
        """Wide enough for all intervals, and for 1."""
        ends = [
            end
            for pair in map(without_spoilt, pairs)
            for end in (pair.low, pair.high, pair.ratio)
            if end
        ]
        least, most = min([1.0, *ends]), max([1.0, *ends])
        margin = max((most / least) ** 0.05, 1.01)
        return cls(least / margin, most * margin)

    def at(self, ratio: float) -> int:
        """The column of a ratio, from 0."""
        share = math.log(ratio / self.least) / math.log(self.most / self.least)
        return round(share * (BAR - 1))

    @property
    def head(self) -> str:
        """The 1 above its column, with the ends of the axis where there is room."""
        signs = [" "] * BAR
        signs[self.at(1.0)] = "1"
        least, most = f"{self.least:.3g}", f"{self.most:.3g}"
        if self.at(1.0) > len(least):
            signs[: len(least)] = least
        if self.at(1.0) < BAR - 1 - len(most):
            signs[-len(most) :] = most
        return "".join(signs)

    @property
    def bare(self) -> str:
        """The line at 1."""
        return " " * self.at(1.0) + "|"

    def bar(self, pair: PairSummary) -> str:
        """The interval, with its ratio in it, beside the line at 1."""
        signs = list(self.bare.ljust(BAR))
        if pair.low and pair.high:
            low, high = self.at(pair.low), self.at(pair.high)
            signs[low : high + 1] = "=" * (high - low + 1)
            signs[low], signs[high] = "[", "]"
            if pair.low <= 1 <= pair.high:
                signs[self.at(1.0)] = "|"
        if pair.ratio:
            signs[self.at(pair.ratio)] = "+" if pair.low else "?"
        return "".join(signs).rstrip()


@dataclass(frozen=True)
class StateTable:
    """A line for each state, in columns where there is room for them."""

    found: Sequence[State]

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> RenderResult:
        titles = max(cell_len(state.title) for state in self.found)
        before = 4 + GAP + titles + GAP
        roomy = options.max_width - before >= ROOM
        for state in self.found:
            blank = " " * (titles - cell_len(state.title) + GAP) if roomy else " " * GAP
            line = Text.assemble((f"{state.level:4}", STYLES[state.level]), " " * GAP, state.title,
                                 blank, state.text)  # fmt: skip
            yield from wrapped(line, options.max_width, " " * before if roomy else INDENT)


def next_steps(summary: Summary) -> list[str | Text]:
    """What would narrow the answer, where to read more, and which run this was."""
    said: list[str | Text] = []
    pairs, gate = against_first(summary), summary.gate
    if gate is None:
        said += [line for pair in pairs if (line := further(pair))][:1]
        busy = any(pair.verdict in UNDECIDED and pair.disturbances for pair in pairs)
        if busy and not said and summary.status == "complete":  # else --resume goes first
            said.append("To get an answer, measure again while the machine is quiet: mbench doctor")
    elif gate.outcome == INCONCLUSIVE:
        allowance = gate.fail_if_slower
        again = f" --fail-if-slower {100 * allowance:g}%"
        unsure = [p for p in pairs if judge_pair(p, allowance=allowance)[0] == INCONCLUSIVE]
        said += [line + again for pair in unsure if (line := price(pair))][:1]
    measured = any(case.outcome == "ok" for case in summary.cases)
    if measured:
        more = ["Details: mbench show -v"]
        if len(summary.cases) > 1 and summary.comparisons:
            more.append("Why: mbench explain")
        said.append("   ".join([*more, "Page: mbench report"]))
    took = duration(summary)
    said.append(f"Run {summary.run}, {summary.status}" + (f", {took}" if took else ""))
    return said


def duration(summary: Summary) -> str:
    """How long the run took; empty if it did not end, or if it was measured in parts."""
    if not summary.finished or summary.resumed:
        return ""
    try:
        ends = [datetime.fromisoformat(text) for text in (summary.started, summary.finished)]
        return span((ends[1] - ends[0]).total_seconds())
    except (ValueError, TypeError):  # something else has written the file
        return ""
