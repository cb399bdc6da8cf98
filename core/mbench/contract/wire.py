"""The messages between parent and worker: JSON lines, one dataclass each, checked on reading."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mbench.contract.adapter import FrameworkInfo, Traced
from mbench.contract.case import UNCHANGED, Case, ProofWork
from mbench.contract.feed_messages import AskFed, Fed, Feed, Feeding
from mbench.contract.learning import (
    Evaluated,
    EvaluateModel,
    Learn,
    Learnt,
    PrepareLesson,
    Sketches,
    SketchTensors,
)
from mbench.contract.outcome import FAILURES
from mbench.contract.rank import SINGLE, RankInfo
from mbench.contract.reading import Malformed, read_fields
from mbench.contract.worker_state import WorkerState

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["NUMBERS", "AskFed", "AskState", "Close", "Closed", "Elapsed", "Failure", "Fed", "Feed",
           "Feeding", "FindShapes", "Hello", "Keep", "Kept", "Load", "Loaded", "Look", "Memory",
           "MemoryUsed", "Nudge", "Nudged",
           "Observation", "Observe", "Prepare", "Prepared", "Profile", "Renew", "Renewed", "Seen",
           "SeenBefore", "ShapesFound", "Start", "StepEvidence", "TimeSteps", "TimeWaits", "decode",
           "encode"]  # fmt: skip


NUMBERS = 512
"""Content numbers per seed; numbers below it are those of batches that recur in turn."""


@dataclass(frozen=True, kw_only=True)
class Hello:
    """A worker's first message."""

    python: str
    pid: int
    process_group: int


@dataclass(frozen=True, kw_only=True)
class Start:
    """Import and set up the framework and say what it is; answered by FrameworkInfo.

    `runtime` is the adapter's Runtime as "module:Class". `device_memory_bytes` is how much of the
    device's memory it may use; None: all of it.
    """

    runtime: str
    device: str
    threads: int
    place: RankInfo = SINGLE
    device_memory_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class AskState:
    """Ask how the process looks from inside; answered by WorkerState."""


@dataclass(frozen=True, kw_only=True)
class Prepare:
    """Build a case and load its canonical parameters, unless `Observe` follows, which loads them.

    `memory_limit_bytes` is how much the process may hold in total.
    """

    case: Case
    work: ProofWork = UNCHANGED
    load: bool = True
    memory_limit_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class Prepared:
    seconds: float
    differences: list[str]
    trainable_parameters: int
    batches: int
    depth: int = 0
    """Batches that its input pipeline prefetches; 0 without one."""

    def __post_init__(self) -> None:
        if self.batches < 1:
            raise Malformed("Prepared.batches should be 1 or more")


@dataclass(frozen=True, kw_only=True)
class Load:
    """Load the canonical parameters again and reset the optimizer."""


@dataclass(frozen=True, kw_only=True)
class Loaded:
    pass


@dataclass(frozen=True, kw_only=True)
class TimeSteps:
    """Time `count` steps: as one block, or each synchronised on its own.

    `lead` untimed steps run first, so that processes that exchange their gradients start
    together.
    """

    count: int
    each: bool = False
    lead: int = 0


@dataclass(frozen=True, kw_only=True)
class TimeWaits:
    """Repeatedly time a synchronisation with nothing to wait for; answered by Elapsed."""


@dataclass(frozen=True, kw_only=True)
class SelectBatch:
    """Run the next step on the batch with that number; later steps follow in turn."""

    batch: int


@dataclass(frozen=True, kw_only=True)
class BatchSelected:
    """The next step will run on the selected batch."""


@dataclass(frozen=True, kw_only=True)
class Keep:
    """Find out, by two steps that are not counted, whether results outlive the steps after them.
    From now on, keep the results of the last steps; answered by Kept.
    """


@dataclass(frozen=True, kw_only=True)
class Kept:
    """How many of the last steps have their results kept, and the bytes of a batch as drawn."""

    results: int
    batch_bytes: int


@dataclass(frozen=True, kw_only=True)
class Renew:
    """Give `count` steps their data, starting with the next step.

    The step at position p is on batch p modulo `slots`, whose contents are number p modulo `slots`
    of a seed. Each `chunk` positions share a seed: `seeds` are for `first`'s chunk and the next.
    `twice`: one batch in sixteen, or in eight if there are fewer than sixteen, repeats earlier
    contents, which shows the scatter of masks.
    """

    first: int
    count: int
    slots: int
    chunk: int
    seeds: list[int]
    twice: bool = False

    def __post_init__(self) -> None:
        if self.slots < 1 or self.chunk < 1 or not self.first >= 0:
            raise Malformed("Renew should have valid positions")


@dataclass(frozen=True, kw_only=True)
class Renewed:
    pass


@dataclass(frozen=True, kw_only=True)
class Elapsed:
    """The start, on the machine's monotonic clock, and one duration per block, or one per step.

    With several processes, durations are the slowest one's, and `ranks` has those of each. `marks`
    are moments within each step, by name, from the step's beginning. `stops` is how often, at
    least, the process was stopped and continued meanwhile; mbench never does so within a turn.
    """

    start_nanoseconds: int
    nanoseconds: list[int]
    ranks: list[list[int]] = field(default_factory=list)
    marks: dict[str, list[int]] = field(default_factory=dict)
    stops: int = 0

    def __post_init__(self) -> None:
        if not self.nanoseconds or min(self.nanoseconds) <= 0:
            raise Malformed("Elapsed.nanoseconds should be durations, all above 0")


@dataclass(frozen=True, kw_only=True)
class Memory:
    """Ask for the peak memory use so far; with `anew`, also reset the peak."""

    anew: bool = False


@dataclass(frozen=True, kw_only=True)
class MemoryUsed:
    """The peak, None if the framework does not report one; and whether it was reset (`anew`)."""

    peak_bytes: int | None
    anew: bool = False


@dataclass(frozen=True, kw_only=True)
class Look:
    """Ask what the last timed step left; with `changes`, also how parameters have changed so far;
    with `along`, each whole output times random signs (`signs_of`) instead of a thinned output.
    `back` lists earlier steps, counted back from the last one, whose kept results are wanted too.
    """

    changes: bool = False
    along: bool = False
    back: list[int] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class SeenBefore:
    """What an earlier step left, counted back from the last one, and its batch; see Seen."""

    back: int
    batch: int
    loss: float | None = None
    outputs: dict[str, list[float]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What was left after `step` steps since parameters were loaded, the last one on `batch`.

    Training: the loss of the last step. Inference: sketches of its thinned outputs. `changes` and
    `statistics` are sketches of the change of each parameter and of each running statistic, if
    requested. `skipped` of the steps made no update because scaled gradients overflowed. Reading
    loss and outputs took `read_bytes`. For a renewed batch, `batch` is the number of its contents.
    """

    step: int
    batch: int
    skipped: int = 0
    loss: float | None = None
    outputs: dict[str, list[float]] = field(default_factory=dict)
    changes: dict[str, list[float]] = field(default_factory=dict)
    statistics: dict[str, list[float]] = field(default_factory=dict)
    read_bytes: int = 0
    earlier: list[SeenBefore] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Nudge:
    """Run the first `steps` twice: from the canonical parameters, and a unit in the last place from
    there, each one up or down, as `number` selects. The answer has changes after `changes_at`.
    """

    steps: int
    changes_at: list[int] = field(default_factory=list)
    number: int = 1


@dataclass(frozen=True, kw_only=True)
class Nudged:
    """What each step left, for either series."""

    canonical: list[Seen]
    nudged: list[Seen]
    unit: float = 0.0
    """The norm of a unit in the last place of all numbers whose change is looked at; 0 if none."""


@dataclass(frozen=True, kw_only=True)
class Observe:
    """Reload the canonical parameters of `seed`, run `steps` steps and report the evidence.

    All steps use batch number `batch` or, if `in_turn`, each uses the next one. With `apart`, ranks
    use batch number rank // apart, the same for that many consecutive ranks. For tensors in
    `masked`, the places that change are reported. Those in `filled` are filled with that number.
    """

    seed: int
    steps: int
    batch: int = 0
    apart: int = 0
    in_turn: bool = False
    masked: list[str] = field(default_factory=list)
    filled: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class StepEvidence:
    """What one step left: its loss, and sketches of tensors by name (see contract/sketch.py).

    `moved` has a character for each number of a bias, and for each input of a weight: "1" if any of
    its numbers changed.
    """

    loss: float | None
    outputs: dict[str, list[float]]
    parameters: dict[str, list[float]]
    moved: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Observation:
    """Shapes of all tensors by name, the trainable count, and the evidence of each step.

    `counted_flops` is one sample's forward pass by the framework's own counter, if it has one.
    `integers` are digests of the int8 integers that linear layers multiply by, by weight name.
    """

    trainable_parameters: int
    counted_flops: float | None
    shapes: dict[str, list[int]]
    steps: list[StepEvidence]
    integers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Profile:
    """Run one step, untimed, under the framework's own profiler, which writes its trace into
    `folder`, an empty folder on the worker's machine; answered by Traced.
    """

    folder: str


@dataclass(frozen=True, kw_only=True)
class FindShapes:
    """Ask for the shapes of all tensors of a case's model, without allocating it."""

    case: Case


@dataclass(frozen=True, kw_only=True)
class ShapesFound:
    shapes: dict[str, list[int]]


@dataclass(frozen=True, kw_only=True)
class Close:
    """Say goodbye and exit."""


@dataclass(frozen=True, kw_only=True)
class Closed:
    pass


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Sent instead of an answer: `outcome` is one of FAILURES."""

    outcome: str
    reason: str
    traceback: str = field(default="")

    def __post_init__(self) -> None:
        if self.outcome not in FAILURES:
            raise Malformed(f"a worker cannot report the outcome {self.outcome!r:.60}")


MESSAGES = {
    kind.__name__: kind
    for kind in (
        Hello, Start, FrameworkInfo, AskState, WorkerState, Prepare, Prepared, TimeSteps, TimeWaits,
        Elapsed, Memory, MemoryUsed, SelectBatch, BatchSelected, Load, Loaded, Look, Seen, Nudge,
        Nudged, Keep, Kept, Feed, Feeding, AskFed, Fed, Renew, Renewed, Observe, Observation,
        FindShapes, ShapesFound, Profile, Traced, PrepareLesson, Learn, Learnt, EvaluateModel,
        Evaluated, SketchTensors, Sketches, Close, Closed, Failure,
    )
}  # fmt: skip


def encode(message: object) -> bytes:
    """One line of strict JSON (a NaN raises ValueError)."""
    body = {"message": type(message).__name__, **dataclasses.asdict(message)}  # type: ignore[call-overload]
    return json.dumps(body, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def decode(line: bytes, kinds: Mapping[str, type] = MESSAGES, *, lenient: bool = False) -> object:
    """The message in one line; raises Malformed, which says what is wrong.

    `kinds` are the allowed messages, by name; if `lenient`, unknown fields are ignored.
    """
    try:
        body = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"not JSON: {line[:80]!r} ({error})") from None
    name = body.pop("message", None) if isinstance(body, dict) else None
    if not isinstance(name, str) or name not in kinds:
        raise Malformed(f"unknown message: {line[:80]!r}")
    return read_fields(kinds[name], body, where=name, lenient=lenient)
