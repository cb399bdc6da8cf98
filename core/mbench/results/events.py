"""What a run's file holds: a record for each kind of event."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from mbench.contract import case as contract
from mbench.contract.adapter import FrameworkInfo
from mbench.contract.device import Check
from mbench.contract.quantities import (
    Bytes,
    Count,
    Instant,
    Nanoseconds,
    Number,
    Seconds,
    Steps,
)  # fmt: skip
from mbench.contract.rank import parse_scale
from mbench.contract.reading import Malformed
from mbench.machine.neighbours import Neighbour
from mbench.machine.records import Sample, System
from mbench.machine.standing import Standing
from mbench.results import calibration, evidence, facts
from mbench.results.event_base import Event, OfCase, OfProcess
from mbench.results.input_events import DataSet, PartBlock, Pixels
from mbench.results.proof import ProofRecord
from mbench.results.training import KINDS as OF_TRAINING
from mbench.spec.experiment import Experiment, from_plain
from mbench.spec.presets import written_down
from mbench.spec.protocol import Protocol

__all__ = ["EVENTS", "KNOWN", "DataSet", "Event", "OfCase", "OfProcess", "PartBlock", "Pixels"]


@dataclass(frozen=True, kw_only=True)
class Run(Event):
    """Once, at the beginning."""

    schema: int
    """Version of this schema."""
    id: str
    """Name of the run and of its folder: UTC time and four random digits."""
    after: str | None = None
    """The latest run in the same folder of runs when this one began; None if there was none."""
    mbench: str
    """Version of mbench that measured."""
    source: str = ""
    """Digest of the code of that mbench."""
    arguments: list[str]
    """The command line as it was typed."""
    started: str
    """When: ISO 8601, UTC."""
    experiment: Annotated[Experiment, from_plain]
    """What was asked for; the run can be repeated from it."""
    system: System
    """The machine, before the run began."""

    @property
    def protocol(self) -> Protocol:
        """The constants of the measurement, as the run began."""
        return self.experiment.protocol

    @property
    def calibrates(self) -> bool:
        """Whether `mbench calibrate` made the run, which compares a case with itself."""
        words = (word for word in self.arguments[1:] if not word.startswith("-"))
        return next(words, "") == "calibrate"


@dataclass(frozen=True, kw_only=True)
class Resumed(Event):
    """When a run is continued."""

    arguments: list[str]
    """The command line as it was typed."""
    mbench: str
    """Version of mbench that continued the run."""
    source: str = ""
    """Digest of the code of that mbench."""
    at: str
    """When: ISO 8601, UTC."""
    protocol: Annotated[Protocol, written_down]
    """The constants of the measurement from then on."""


@dataclass(frozen=True, kw_only=True)
class Surroundings(Event):
    """Before anything is measured, if something on the machine is going to disturb it."""

    checks: list[Check]
    """What is not as it should be, worst first."""


@dataclass(frozen=True, kw_only=True)
class OtherMbench(Neighbour, Event):
    """When another mbench is first seen measuring on the machine."""


@dataclass(frozen=True, kw_only=True)
class Absence(facts.AbsenceRecord, Event):
    """When mbench, a worker or a machine runs again after it was stopped, frozen or suspended."""


@dataclass(frozen=True, kw_only=True)
class Comparison(Event):
    """For each comparison, before any of them is measured."""

    comparison: Number
    """Number of the comparison in the run."""
    title: str
    """The comparison in a few words."""


@dataclass(frozen=True, kw_only=True)
class OperatorCounts(Event):
    """After the comparison of an operator, where `--operators` named models."""

    comparison: Number
    """Number of the comparison."""
    counts: dict[str, Count]
    """How often a step of each of these models calls the operator."""


@dataclass(frozen=True, kw_only=True)
class Search(Event):
    """When a batch size or a compiler has been found, before the comparison's cases."""

    comparison: Number
    """Number of the comparison."""
    label: str
    """The framework with its settings, numbered where it was given twice."""
    what: str
    """ "batch_size" or "compiler"."""
    chosen: int | str | None
    """What was found for this framework; None if nothing ran."""
    tied: list[str] = field(default_factory=list)
    """Other values that the chosen one is not shown to be faster than."""
    tried: list[facts.Tried]
    """All values, in the order in which they were tried."""


@dataclass(frozen=True, kw_only=True)
class ComparisonEnd(Event):
    """When a comparison has been measured."""

    comparison: Number
    """Number of the comparison."""
    reason: str
    """Why no more was measured."""
    set_seconds: Seconds | None = None
    """How long a set of fresh processes took; None if there was none."""


@dataclass(frozen=True, kw_only=True)
class End(Event):
    """Once, at the end."""

    status: str
    """ "complete" or "interrupted"."""
    finished: str
    """When: ISO 8601, UTC."""
    digest: str = ""
    """SHA-256 of all preceding lines, and of this one with its digest left empty."""


@dataclass(frozen=True, kw_only=True)
class Case(facts.CountedWork, OfCase):
    """For each case, before any case of its comparison is measured."""

    comparison: Number
    """Number of the comparison that it is part of."""
    label: str
    """The framework with its settings, numbered where it was given twice."""
    framework: str
    """The adapter's name."""
    framework_title: str
    """How the framework writes its own name."""
    distribution: str = ""
    """The distribution that the adapter is part of."""
    spec: str
    """The framework as it was given, without settings."""
    axes: contract.Case
    """What a worker needs to prepare the case: its axes, and switches for proofs."""
    own_compiler: bool = False
    """Whether the compiler is that of the tier, not one that was asked for."""
    samples: str
    """What a sample is called."""
    samples_per_item: int = 1
    """Samples in each item of a batch: 1, or the tokens of a sequence."""
    standard: bool
    """Whether the model has its published sizes."""
    gates: evidence.Gates
    """How much timed results may differ."""

    def __post_init__(self) -> None:
        if self.axes.batch_size < 1 or self.samples_per_item < 1:
            raise Malformed("an empty batch")
        try:
            parse_scale(self.axes.scale)
        except ValueError as error:
            raise Malformed(str(error)) from None


@dataclass(frozen=True, kw_only=True)
class Environment(facts.EnvironmentRecord, OfCase):
    """When the environment is found."""


@dataclass(frozen=True, kw_only=True)
class EqualWork(ProofRecord, OfCase):
    """When the proof is made or remembered."""


@dataclass(frozen=True, kw_only=True)
class Framework(FrameworkInfo, OfCase):
    """When the first worker has imported the framework."""


@dataclass(frozen=True, kw_only=True)
class Node(facts.NodeRecord, OfCase):
    """After `framework`, for each machine of the case, unless everything is computed where mbench
    runs.
    """


@dataclass(frozen=True, kw_only=True)
class Calibration(calibration.Calibration, OfCase):
    """After `framework`, if this machine was calibrated for the case."""


@dataclass(frozen=True, kw_only=True)
class Outcome(OfCase):
    """When a case is not measured, or is not measured to its end."""

    outcome: str
    """How it ended, in a word."""
    reason: str
    """Why, in one line."""
    log: str | None
    """File with the worker's output; its path is as seen from where mbench ran."""

    def __post_init__(self) -> None:
        if self.outcome == "ok":
            raise Malformed("outcome ok follows from measurements, not from this event")


@dataclass(frozen=True, kw_only=True)
class Ceiling(facts.CeilingRecord, OfCase):
    """When a case's first worker is done: an operator of one size, or why there is none."""


@dataclass(frozen=True, kw_only=True)
class Rounding(evidence.Rounding, OfCase):
    """After a case's processes, if its results differ from another case's: one after 16 steps, and
    after 32 and 64 if these were compared.
    """

    number: Number = 1
    """Number of the nudge. Each changes the parameters in another way."""


@dataclass(frozen=True, kw_only=True)
class PastRatio(facts.PastRatioRecord, OfCase):
    """After all rounds, for each of the latest runs on this machine that compared the same two
    cases.
    """


@dataclass(frozen=True, kw_only=True)
class Process(OfProcess):
    """When a process has warmed up. A process with the same number replaces the earlier one."""

    pid: int
    """Process id of the worker."""
    prepare_seconds: Seconds
    """Time to build the case and load its parameters."""
    trainable_parameters: Number
    """Trainable parameters, as the framework counts them."""
    differences: list[str]
    """What the framework does its own way."""
    batches: Count
    """Batches on the device, which steps use in turn."""
    first_loss: float | None
    """Loss of the first step, from the canonical weights; None for inference."""
    first_outputs: dict[str, evidence.Sketch] = field(default_factory=dict)
    """Sketches of the outputs of the first batch, thinned; none for training."""
    first_step_nanoseconds: Nanoseconds
    """Duration of the first step, compiling included."""
    warmup_blocks: list[tuple[Steps, Nanoseconds]]
    """Steps and nanoseconds of each block after the first step."""
    warmup_reason: str
    """Why the warm-up ended."""
    warmup_peak_bytes: Bytes | None = None
    """The allocator's peak while the process warmed up; None where that peak cannot be reset."""
    synchronize_nanoseconds: Nanoseconds | None = None
    """How long `synchronize` takes when there is nothing left to wait for; single steps include
    it."""


@dataclass(frozen=True, kw_only=True)
class WorkerState(facts.WorkerStateRecord, OfProcess):
    """For each rank of a process, before it prepares its case."""


@dataclass(frozen=True, kw_only=True)
class Build(facts.BuildRecord, OfProcess):
    """When a process has prepared its case again, and has warmed up again."""


@dataclass(frozen=True, kw_only=True)
class Memory(facts.MemoryRecord, OfProcess):
    """After a process's last round."""


@dataclass(frozen=True, kw_only=True)
class Changes(evidence.Changes, OfProcess):
    """In training, once after as many steps as all processes reach, and after the last round."""


@dataclass(frozen=True, kw_only=True)
class OfBlock(OfProcess):
    round: Number
    """Number of the round among those of the process."""
    each: bool
    """Whether each step is synchronised and timed on its own."""


@dataclass(frozen=True, kw_only=True)
class Block(OfBlock):
    """After each block."""

    steps: Steps
    """Steps of the block."""
    start: Instant
    """When it began."""
    nanoseconds: list[Nanoseconds]
    """Duration of the block, or of each of its steps; with several ranks, the slowest one's."""
    ranks: list[list[Nanoseconds]] = field(default_factory=list)
    """The same for each rank, if there are several."""
    marks: dict[str, list[Nanoseconds]] = field(default_factory=dict)
    """Moments within each step that the scenario marked, by name, from the step's beginning."""

    def __post_init__(self) -> None:
        for times in (self.nanoseconds, *self.ranks):
            if len(times) != (self.steps if self.each else 1):
                raise Malformed(f"a block of {self.steps} steps with {len(times)} durations")
        for name, instants in self.marks.items():
            if len(instants) != self.steps:
                raise Malformed(f"a block of {self.steps} steps with {len(instants)} marks {name}")


@dataclass(frozen=True, kw_only=True)
class Evidence(evidence.Evidence, OfBlock):
    """After each block."""


@dataclass(frozen=True, kw_only=True)
class Telemetry(Standing, OfBlock):
    """After each block, for each machine that it ran on."""

    host: str = ""
    """The machine; empty for the one that ran mbench. Instants are by this machine's clock."""
    cores: Count
    """Logical cores that the worker may use."""
    samples: list[Sample]
    """Samples from before and after the block, and once a second in between."""
    pace: Nanoseconds | None = None
    """Duration of an empty loop of mbench's own before the turn; None if not all workers were
    stopped."""
    memory_pace: Nanoseconds | None = None
    """Duration of a copy through memory before the turn; None as for `pace`."""

    def __post_init__(self) -> None:
        if len(self.samples) < 2:
            raise Malformed("a block needs at least two samples of its machine")


EVENTS: dict[str, type[Event]] = {kind.kind: kind for kind in (
    Run, Resumed, Surroundings, OtherMbench, Absence, Comparison, OperatorCounts, DataSet, Search,
    Case, Environment, EqualWork, Pixels, Framework, Node, Calibration, WorkerState, Process,
    Build, Block, PartBlock, Telemetry, Evidence, Changes, Memory, Rounding, Ceiling, Outcome,
    ComparisonEnd, PastRatio, End,
)}  # fmt: skip
"""The events of every run. Other packages may write and read further kinds."""
KNOWN: dict[str, type[Event]] = {**EVENTS, **{kind.kind: kind for kind in OF_TRAINING}}
"""The events of every run and those of training runs: all that are read from any run."""
