"""The ratios of all runs as rows and cells: the latest of each, and what may be said about them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from mbench.contract.axes import AXES, name
from mbench.contract.metric import THROUGHPUT
from mbench.reports.cases import one_compiler_each
from mbench.reports.text import interval, number, percent
from mbench.reports.verdicts import cases_of, figure
from mbench.results.proof import EQUAL, PROVEN
from mbench.site.names import brief

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from mbench.results.case_summary import CaseSummary
    from mbench.results.pair_summary import PairSummary
    from mbench.site.publish import Machine, Published

__all__ = ["Cell", "Row", "rows_of"]

DISTORTED = 0.5
"""From this share of distorted rounds on, a ratio is not shown."""
BESIDE = ("model", "mode", "compiler")
"""Axes that a row says elsewhere."""
REASON = 90

Who = tuple[str, str]
"""A label, and its compiler where that has to be named."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """The latest ratio of a framework to the row's baseline."""

    run: Published
    pair: PairSummary
    case: CaseSummary
    baseline: CaseSummary
    why_not: str
    """Why no ratio is shown; empty where one is."""
    several: bool
    """Whether its run has several compilers of one framework, so that they have to be named."""
    rank: int | None = None
    """Its rank among all frameworks of the row, if every two of them are told apart."""
    machines: int = 1
    """On how many machines the latest run says the same."""
    disagree: bool = False
    """Whether other runs on this machine have the opposite verdict."""

    @property
    def kind(self) -> str:
        """up, down or even if a ratio is shown; else none."""
        if self.why_not:
            return "none"
        return {"faster": "up", "slower": "down"}.get(str(self.pair.verdict), "even")

    @property
    def compiler(self) -> str:
        """The framework's compiler if it has to be named; else empty."""
        return self.pair.compilers[self.pair.framework] if self.several else ""

    @property
    def baseline_compiler(self) -> str:
        """The baseline's compiler if it has to be named; else empty."""
        return self.pair.compilers[self.pair.baseline] if self.several else ""

    @property
    def who(self) -> Who:
        """What distinguishes the cell from others in its row."""
        return self.pair.framework, self.compiler

    @property
    def ratio(self) -> str:
        return figure(self.pair)

    @property
    def ends(self) -> str:
        return interval(self.pair.low, self.pair.high)

    @property
    def reason(self) -> str:
        return brief(self.why_not, REASON)

    @property
    def proof(self) -> str:
        """A mark for what is known about the equality of work."""
        if self.pair.equal_work not in EQUAL:
            return ""
        return "✓" if self.pair.equal_work == PROVEN else "✓ fp32"

    @property
    def notes(self) -> str:
        """What else a reader should know, in a few words."""
        said = [self.compiler] if self.compiler else []
        said += [f"rank {self.rank}"] if self.rank else []
        said += [f"same on {self.machines} machines"] if self.machines > 1 else []
        said += ["runs disagree"] if self.disagree else []
        said += ["disturbed"] if self.pair.disturbances and not self.why_not else []
        said += ["external adapter"] if self.case.label in self.run.external else []
        return " · ".join(said)

    def versions(self, latest: str | None) -> str:
        """Versions of the framework, and of the baseline if that is not the `latest` of the row."""
        own, base = self.case.version or "", self.baseline.version
        return own if base == latest else f"{own} against {base or '?'}"


@dataclass(frozen=True, kw_only=True)
class Row:
    """A case on a machine, against one baseline."""

    machine: Machine
    baseline: CaseSummary
    """As the latest run measured it."""
    model: str
    mode: str
    precision: str
    device: str
    words: str
    """The axes that its cases share with unusual values, and the metric if it is not throughput."""
    cells: Sequence[Cell] = field(default_factory=list)
    rank: int | None = None
    """Rank of the baseline, as for the cells."""

    @property
    def latest(self) -> Cell:
        return max(self.cells, key=lambda cell: (cell.run.summary.started, cell.run.slug))

    @property
    def day(self) -> str:
        return self.latest.run.day

    @property
    def speed(self) -> str:
        """The baseline's throughput."""
        speed = self.baseline.throughput
        return f"{number(speed.value)} {speed.unit}" if speed else ""

    def of(self, framework: str) -> list[Cell]:
        """The cells of all settings of one framework."""
        return [cell for cell in self.cells if cell.case.framework == framework]


Key = tuple[object, ...]


def rows_of(runs: Iterable[Published]) -> list[Row]:
    """A row for each case, machine and baseline, sorted by model, case and machine.

    Runs come oldest first; a cell shows the last run that has it.
    """
    cells: dict[Key, dict[Who, Cell]] = defaultdict(dict)
    said: dict[Key, dict[Who, set[str]]] = defaultdict(lambda: defaultdict(set))
    for run in runs:
        several = not one_compiler_each(run.summary.cases)
        for pair in run.summary.comparisons:
            if not pair.against_first:
                continue
            baseline, case = cases_of(run.summary, pair)
            cell = Cell(run=run, pair=pair, case=case, baseline=baseline,
                        why_not=why_not(run, pair), several=several)  # fmt: skip
            key = key_of(cell)
            cells[key].pop(cell.who, None)
            cells[key][cell.who] = cell
            if cell.kind in ("up", "down"):
                said[key][cell.who].add(cell.kind)
    every = [cell.pair.shared for of in cells.values() for cell in of.values()]
    silent = [
        axis.name
        for axis in AXES
        if axis.quiet and len({axis.value(one) for one in every if axis.name in one}) < 2
    ]
    made = [(key, row_of(list(of.values()), said[key], silent)) for key, of in cells.items()]
    same: dict[Key, set[Machine]] = defaultdict(set)
    for key, row in made:
        for cell in row.cells:
            same[said_of(key, cell)].add(row.machine)
    rows = [
        replace(row, cells=[
            cell if cell.why_not else replace(cell, machines=len(same[said_of(key, cell)]))
            for cell in row.cells
        ])
        for key, row in made
    ]  # fmt: skip
    return sorted(rows, key=lambda row: (row.model, row.mode, row.words, row.machine.host,
                                         row.machine.about, row.baseline.label))  # fmt: skip


def said_of(key: Key, cell: Cell) -> Key:
    """What a cell says, regardless of the machine."""
    return *key[1:], cell.who, cell.kind


def key_of(cell: Cell) -> Key:
    """What cells of several runs have in common if they are in one row; the machine comes first."""
    run, pair = cell.run, cell.pair
    shared = tuple(
        (axis.name, axis.value(pair.shared)) for axis in AXES if axis.name in pair.shared
    )
    baseline = pair.baseline, cell.baseline_compiler
    return run.machine, baseline, pair.metric, run.summary.protocol.name, shared


def row_of(cells: Sequence[Cell], said: dict[Who, set[str]], silent: Collection[str]) -> Row:
    last = max(cells, key=lambda cell: (cell.run.summary.started, cell.run.slug))
    shared, case, summary = last.pair.shared, last.case, last.run.summary
    words = [name(shared, less=(*BESIDE, *silent)), last.baseline_compiler]
    if last.pair.metric not in (None, THROUGHPUT.name):
        metric = summary.metrics.get(last.pair.metric or "")
        words.append(f"by {metric.title if metric else last.pair.metric}")
    words += [summary.protocol.name] if not summary.protocol.claims_interval else []
    both = dict.fromkeys((last.baseline.axes.precision, case.axes.precision))
    disagree = {who for who, kinds in said.items() if len(kinds) > 1}
    ranks = {} if disagree else ranks_of(cells)
    return Row(
        machine=last.run.machine,
        baseline=last.baseline,
        model=case.axes.model,
        mode=case.axes.mode,
        precision="/".join(both),
        device=case.axes.device,
        words=", ".join(filter(None, words)),
        rank=ranks.get((last.pair.baseline, last.baseline_compiler)),
        cells=[
            replace(cell, rank=ranks.get(cell.who), disagree=cell.who in disagree)
            for cell in sorted(cells, key=lambda cell: (cell.case.framework, *cell.who))
        ],
    )


def ranks_of(cells: Sequence[Cell]) -> dict[Who, int]:
    """The rank of each framework, fastest first; empty unless one run has told every two of them
    apart, with intervals that leave no other order.
    """
    if len({cell.run.slug for cell in cells}) > 1 or any(cell.why_not for cell in cells):
        return {}
    run, first = cells[0].run, cells[0]
    wins = dict.fromkeys(
        [(first.pair.baseline, first.baseline_compiler), *(cell.who for cell in cells)], 0
    )
    for pair in run.summary.comparisons:
        baseline, other = (
            (label, pair.compilers[label] if first.several else "")
            for label in (pair.baseline, pair.framework)
        )
        if not {baseline, other} <= wins.keys() or pair.shared != first.pair.shared:
            continue
        if pair.verdict not in ("faster", "slower") or why_not(run, pair):
            return {}
        wins[other if pair.verdict == "faster" else baseline] += 1
    if sorted(wins.values()) != list(range(len(wins))):
        return {}
    return {who: len(wins) - won for who, won in wins.items()}


def why_not(run: Published, pair: PairSummary) -> str:
    """Why a ratio is not shown; empty if it is."""
    if run.integrity.reason:
        return run.integrity.reason
    if pair.verdict is None:
        return f"not compared: {pair.reason or 'the run ended before this comparison'}"
    if pair.equal_work not in EQUAL:
        return f"equal work {pair.equal_work}"
    if pair.verdict == "undetermined":
        return f"no answer: {pair.undetermined}"
    if pair.verdict == "depends on stalls":
        return "depends on stalls"
    if pair.distorted is not None and pair.distorted > DISTORTED:
        return f"distorted in {percent(pair.distorted)} of the rounds"
    return ""
