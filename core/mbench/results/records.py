"""A run as it is read: its cases and their processes, assembled from events."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import singledispatchmethod
from typing import TYPE_CHECKING

from mbench.console import counted
from mbench.machine.usage import usage
from mbench.results import events
from mbench.results.identity import MACHINE, CaseIdentity
from mbench.results.training import TrainedSeed

if TYPE_CHECKING:
    from pathlib import Path

    from mbench.contract.case import Case
    from mbench.contract.device import Check
    from mbench.machine.standing import Move
    from mbench.machine.usage import Usage
    from mbench.spec.protocol import Protocol

__all__ = ["CaseRecord", "ComparisonRecord", "Damage", "Process", "Run"]


@dataclass(frozen=True, slots=True)
class Watched:
    """A block, and what the machine did meanwhile. Its many samples are not kept."""

    block: events.Block
    host: str
    cores: int
    pace: int | None
    memory_pace: int | None
    usage: Usage | None
    """None if no time passed between the samples."""
    worker_seconds: tuple[float, float]
    """Processor time of the worker at the first and at the last sample."""
    moves: list[Move]
    """What other processes have changed about how the worker may run, since the previous block."""

    @property
    def time_slice(self) -> tuple[int, int]:
        """Process and round."""
        return self.block.process, self.block.round


@dataclass
class Process:
    """One fresh worker of one case."""

    warm: events.Process
    blocks: list[events.Block] = field(default_factory=list)
    watched: list[Watched] = field(default_factory=list)
    evidence: list[tuple[events.Block, events.Evidence]] = field(default_factory=list)
    """Each block, and what its last step left."""
    changes: list[events.Changes] = field(default_factory=list)
    parts: list[events.PartBlock] = field(default_factory=list)
    """Blocks of parts of its work, if batches come from files."""
    builds: list[events.Build] = field(default_factory=list)
    """All builds but the first."""
    peak_bytes: int | None = None
    idle_look: int | None = None


@dataclass
class CaseRecord:
    """Everything that was written about one case."""

    planned: events.Case
    environment: events.Environment | None = None
    states: dict[tuple[int, int], events.WorkerState] = field(default_factory=dict)
    """States of its workers, by process and rank."""
    equal_work: events.EqualWork | None = None
    pixels: events.Pixels | None = None
    info: events.Framework | None = None
    nodes: dict[str, events.Node] = field(default_factory=dict)
    """By host; empty if only the machine that ran mbench computed."""
    calibration: events.Calibration | None = None
    past: dict[tuple[int, str], events.PastRatio] = field(default_factory=dict)
    """By the number of the baseline's case and the name of the earlier run."""
    outcome: events.Outcome | None = None
    ceiling: list[events.Ceiling] = field(default_factory=list)
    nudges: list[events.Rounding] = field(default_factory=list)
    """How far each nudge carried it; empty where nothing had to be explained by rounding."""
    processes: dict[int, Process] = field(default_factory=dict)

    @property
    def axes(self) -> Case:
        return self.planned.axes

    @property
    def samples_per_step(self) -> int:
        """Samples in a step, on all devices together."""
        return self.axes.samples_per_step * self.planned.samples_per_item


@dataclass
class ComparisonRecord:
    title: str
    reason: str | None = None
    """Why measuring stopped; None if it has not."""
    set_seconds: float | None = None
    cases: set[int] = field(default_factory=set)
    """Numbers of its cases."""
    data: events.DataSet | None = None
    """The files that batches come from."""


@dataclass(frozen=True, kw_only=True)
class Damage:
    """The first line that cannot be read."""

    line: int
    """Its number, from 1."""
    why: str
    """In a few words."""
    offset: int
    """Bytes of the file before it."""
    last: bool
    """Whether nothing follows it: the file was cut off in the middle of the line."""

    def __str__(self) -> str:
        return f"line {self.line} is damaged ({self.why}); what came before it is shown"


@dataclass
class Run:
    """One run as it is stored on disk."""

    folder: Path
    header: events.Run
    comparisons: dict[int, ComparisonRecord] = field(default_factory=dict)
    cases: dict[int, CaseRecord] = field(default_factory=dict)
    operator_counts: dict[int, dict[str, int]] = field(default_factory=dict)
    """How often each model calls the operator of a comparison, by the comparison's number."""
    _checks: dict[Check, None] = field(default_factory=dict)
    others: list[events.OtherMbench] = field(default_factory=list)
    absences: list[events.Absence] = field(default_factory=list)
    searches: list[events.Search] = field(default_factory=list)
    resumed: events.Resumed | None = None
    """The last continuation; None if there was none."""
    resumptions: list[events.Resumed] = field(default_factory=list)
    """All continuations, in order."""
    end: events.End | None = None
    damage: Damage | None = None
    """The first line that cannot be read; the run has what came before it."""
    backwards: int = 0
    """Number of blocks that begin before the preceding one."""
    more: list[events.Event] = field(default_factory=list)
    """Events of kinds that are known only to the caller who asked for them."""

    @property
    def id(self) -> str:
        return self.header.id

    @property
    def cut_off(self) -> bool:
        """Whether the file ends in the middle of a line."""
        return self.damage is not None and self.damage.last

    @property
    def oddities(self) -> list[str]:
        """What is wrong with the file, apart from being cut off, in a sentence each."""
        found = [] if self.damage is None or self.cut_off else [str(self.damage)]
        if self.backwards:
            blocks = counted(self.backwards, "block")
            found.append(
                f"{blocks} of its file {'begins' if self.backwards == 1 else 'begin'} before the "
                "preceding one: a clock was set back, or the file was changed"
            )
        return found

    @property
    def protocol(self) -> Protocol:
        """The constants of the measurement: the latest ones, if the run was continued."""
        return self.resumed.protocol if self.resumed else self.header.protocol

    @property
    def checks(self) -> list[Check]:
        """What was not as it should be before anything was measured."""
        return list(self._checks)

    @property
    def has_measured(self) -> bool:
        """Whether any case has a round, or a seed was trained."""
        if any(isinstance(event, TrainedSeed) for event in self.more):
            return True
        processes = (one for case in self.cases.values() for one in case.processes.values())
        return any(process.blocks for process in processes)

    @property
    def status(self) -> str:
        if self.end is None:
            return "unfinished"
        if self.cases and all(case.outcome for case in self.cases.values()):
            return "nothing measured"
        return self.end.status

    def cases_of(self, comparison: int) -> list[CaseRecord]:
        """Cases in the order in which the frameworks were named, whenever each was written."""
        known = self.comparisons.get(comparison)
        return [self.cases[number] for number in sorted(known.cases)] if known else []

    def identity(self, case: CaseRecord) -> CaseIdentity:
        """The identity by which the same case is recognised in other runs."""
        planned, header = case.planned, self.header
        return CaseIdentity(
            axes=case.axes,
            framework=planned.framework,
            label=planned.label,
            spec=planned.spec,
            version=case.info.version if case.info else "",
            workload=case.axes.workload,
            machine={name: getattr(header.system, name) for name in MACHINE},
            nodes=sorted(case.nodes),
            mbench=header.mbench,
            protocol=header.protocol.name,
        )

    @singledispatchmethod
    def take(self, event: events.Event) -> None:
        """Put an event where it belongs; raises LookupError if that place does not exist."""
        self.more.append(event)

    @take.register
    def _(self, event: events.Resumed) -> None:
        self.resumed, self.end = event, None
        self.resumptions.append(event)

    @take.register
    def _(self, event: events.Surroundings) -> None:
        self._checks.update(dict.fromkeys(event.checks))

    @take.register
    def _(self, event: events.OtherMbench) -> None:
        self.others.append(event)

    @take.register
    def _(self, event: events.Absence) -> None:
        self.absences.append(event)

    @take.register
    def _(self, event: events.End) -> None:
        self.end = event

    @take.register
    def _(self, event: events.Comparison) -> None:
        known = self.comparisons.get(event.comparison)
        cases = known.cases if known else set()
        self.comparisons[event.comparison] = ComparisonRecord(event.title, cases=cases)

    @take.register
    def _(self, event: events.OperatorCounts) -> None:
        self.comparisons[event.comparison]  # raises if there is none
        self.operator_counts[event.comparison] = event.counts

    @take.register
    def _(self, event: events.DataSet) -> None:
        self.comparisons[event.comparison].data = event

    @take.register
    def _(self, event: events.Pixels) -> None:
        self.cases[event.case].pixels = event

    @take.register
    def _(self, event: events.PartBlock) -> None:
        self.process(event).parts.append(event)

    @take.register
    def _(self, event: events.ComparisonEnd) -> None:
        comparison = self.comparisons[event.comparison]
        comparison.reason, comparison.set_seconds = event.reason, event.set_seconds

    @take.register
    def _(self, event: events.Search) -> None:
        self.comparisons[event.comparison]  # raises if there is none
        self.searches.append(event)

    @take.register
    def _(self, event: events.Case) -> None:
        cases = self.comparisons[event.comparison].cases  # raises if there is none
        if earlier := self.cases.get(event.case):
            self.comparisons[earlier.planned.comparison].cases.discard(event.case)
        cases.add(event.case)
        self.cases[event.case] = CaseRecord(event)

    @take.register
    def _(self, event: events.Environment) -> None:
        self.cases[event.case].environment = event

    @take.register
    def _(self, event: events.WorkerState) -> None:
        self.cases[event.case].states[event.process, event.rank] = event

    @take.register
    def _(self, event: events.EqualWork) -> None:
        self.cases[event.case].equal_work = event

    @take.register
    def _(self, event: events.Framework) -> None:
        self.cases[event.case].info = event

    @take.register
    def _(self, event: events.Node) -> None:
        self.cases[event.case].nodes[event.host] = event

    @take.register
    def _(self, event: events.Calibration) -> None:
        self.cases[event.case].calibration = event

    @take.register
    def _(self, event: events.PastRatio) -> None:
        self.cases[event.baseline]  # raises if there is none
        self.cases[event.case].past[event.baseline, event.run] = event

    @take.register
    def _(self, event: events.Outcome) -> None:
        self.cases[event.case].outcome = event

    @take.register
    def _(self, event: events.Ceiling) -> None:
        self.cases[event.case].ceiling.append(event)

    @take.register
    def _(self, event: events.Rounding) -> None:
        self.cases[event.case].nudges.append(event)

    @take.register
    def _(self, event: events.Process) -> None:
        self.cases[event.case].processes[event.process] = Process(event)

    @take.register
    def _(self, event: events.Block) -> None:
        self.process(event).blocks.append(event)

    @take.register
    def _(self, event: events.Telemetry) -> None:
        process = self.process(event)
        process.watched.append(
            Watched(
                block=process.blocks[-1],
                host=event.host,
                cores=event.cores,
                pace=event.pace,
                memory_pace=event.memory_pace,
                usage=usage(event.samples),
                worker_seconds=(event.samples[0].worker_seconds, event.samples[-1].worker_seconds),
                moves=event.moves,
            )
        )

    @take.register
    def _(self, event: events.Build) -> None:
        self.process(event).builds.append(event)

    @take.register
    def _(self, event: events.Memory) -> None:
        process = self.process(event)
        process.peak_bytes, process.idle_look = event.peak_bytes, event.idle_look

    @take.register
    def _(self, event: events.Evidence) -> None:
        process = self.process(event)
        process.evidence.append((process.blocks[-1], event))

    @take.register
    def _(self, event: events.Changes) -> None:
        self.process(event).changes.append(event)

    def process(self, event: events.OfProcess) -> Process:
        return self.cases[event.case].processes[event.process]
