"""What is kept about a case besides its times: where it ran, what a search tried before it, its
ceilings, and its ratios in earlier runs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mbench.console import counted
from mbench.contract.quantities import (
    Bytes,
    Count,
    Flops,
    Nanoseconds,
    Number,
    Real,
    Seconds,
    Share,
    Steps,
)
from mbench.contract.reading import Malformed
from mbench.contract.worker_state import StateRecord
from mbench.machine.absence import Absence
from mbench.machine.records import System

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["AbsenceRecord", "BuildRecord", "CeilingRecord", "CountedWork", "EnvironmentRecord",
           "MemoryRecord", "NodeRecord", "PastRatioRecord", "Tried", "WorkerStateRecord",
           "said_of_absences"]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class CountedWork:
    """What a step computes, reads and exchanges, by formula."""

    flops_per_sample: Flops
    """FLOPs of one step, by the workload's formula."""
    masked_flops_per_sample: Flops = 0.0
    """The part of them that a causal mask discards: half of attention's; 0 without such a mask."""
    read_bytes_per_step: Bytes | None = None
    """What a step of `decode` must read of weights and cache on each device; None for others."""
    bytes_per_sample: Bytes | None = None
    """The least that a call of an operator must read and write; None for a model."""
    message_bytes: Bytes | None = None
    """What devices exchange per sample, as algorithm bandwidth counts it; None if a step does
    more."""
    bus_share: Share | None = None
    """Bus bandwidth divided by algorithm bandwidth; None as for `message_bytes`."""


@dataclass(frozen=True, kw_only=True)
class EnvironmentRecord:
    """Where the workers of a case ran."""

    python: str
    """Path of the interpreter."""
    python_version: str
    """Its version."""
    managed: bool
    """Whether mbench built the environment."""
    digest: str | None
    """Digest of its requirements, Python and all packages; None if the environment is the user's
    own."""
    packages: dict[str, str]
    """All installed distributions and their versions."""
    digests: dict[str, str] = field(default_factory=dict)
    """Digests of the packages' file lists, which have a hash of each file."""
    installed: str = ""
    """Digest of `packages` and `digests`; it changes if any installed file does."""


@dataclass(frozen=True, kw_only=True)
class WorkerStateRecord(StateRecord):
    """A worker's process as seen from inside."""

    rank: Number
    """Which of the process's ranks."""
    host: str = ""
    """The machine on which it runs; empty for the one that runs mbench."""
    packages: dict[str, str] = field(default_factory=dict)
    """Versions of the distributions that differ from `environment`; a version is empty if its
    distribution is no longer installed."""


@dataclass(frozen=True, kw_only=True)
class MemoryRecord:
    """What a process used, and how quickly it answers."""

    peak_bytes: Bytes | None
    """Most memory since the warm-up: on the CPU, of the process; on a device, by the framework's
    own allocator. None if the framework does not report it."""
    idle_look: Nanoseconds
    """How long the parent waited for a step's evidence when nothing was left to do."""


@dataclass(frozen=True, kw_only=True)
class BuildRecord:
    """A case that a process has prepared again."""

    round: Number
    """The first round of this build."""
    prepare_seconds: Seconds
    """Time to build the case and load its parameters."""
    first_step_nanoseconds: Nanoseconds
    """Duration of the first step."""
    warmup_blocks: list[tuple[Steps, Nanoseconds]]
    """Steps and nanoseconds of each block after the first step."""


@dataclass(frozen=True, kw_only=True)
class NodeRecord:
    """A machine other than the one that runs mbench, on which a case computed."""

    host: str
    """Its name in outcomes and in telemetry."""
    ranks: list[Number]
    """Ranks that run there."""
    system: System
    """What its node agent found there."""


@dataclass(frozen=True, kw_only=True)
class Tried:
    """One value of a search, tried in workers of its own."""

    value: int | str
    """Batch size or compiler."""
    outcome: str = "ok"
    """How it ended, in a word."""
    reason: str = ""
    """Why the outcome is not "ok"."""
    step_seconds: Seconds | None = None
    """Approximate duration of a step, or the mean of `processes`; None if it did not run."""
    peak_bytes: Bytes | None = None
    """Most memory in use; None if it did not run, or if its framework does not report it."""
    processes: list[Seconds] = field(default_factory=list)
    """Duration of a step in each fresh process, if values took turns."""

    def __post_init__(self) -> None:
        if self.outcome == "ok" and self.step_seconds is None:
            raise Malformed(f"{self.value!r:.60} was tried successfully, but has no time")


@dataclass(frozen=True, kw_only=True)
class CeilingRecord:
    """An operator of one size that was timed to find a ceiling, or why it could not be."""

    operator: str
    """ "matmul"; "sustained", the fastest of them again for seconds; "single", the product in fp32
    beside that in half precision; or "add"."""
    size: Number
    """Rows of the square matrices."""
    amount: Number = 0
    """FLOPs or bytes of a step."""
    steps: Number = 0
    """Steps of a block."""
    nanoseconds: list[Nanoseconds] = field(default_factory=list)
    """Duration of each block."""
    processor_nanoseconds: list[Nanoseconds] = field(default_factory=list)
    """Processor time of each block, averaged over threads; empty on a GPU and where the system does
    not report it."""
    error: Real | None = None
    """Relative error of everything that the last step left, along a random vector."""
    reason: str = ""
    """Why it could not be timed, or does not count as a ceiling."""

    def __post_init__(self) -> None:
        if not (self.reason or (self.amount and self.steps and self.nanoseconds)):
            raise Malformed("a ceiling without work, time or reason")


@dataclass(frozen=True, kw_only=True)
class PastRatioRecord:
    """A ratio of two cases in an earlier run."""

    baseline: Number
    """Number of the case that it is compared with."""
    run: str
    """The earlier run."""
    started: str
    """When that run began: ISO 8601, UTC."""
    ratio: Real
    """Throughput of the case divided by the baseline's, in that run."""
    low: Real
    """Lower end of its 95 % interval."""
    high: Real
    """Upper end."""
    process_pairs: Count
    """Number of pairs behind the interval."""

    def __post_init__(self) -> None:
        if not 1e-6 < self.low <= self.ratio <= self.high < 1e6:
            raise Malformed(f"not an interval of a ratio: {self.ratio} ({self.low} .. {self.high})")


@dataclass(frozen=True, kw_only=True)
class AbsenceRecord(Absence):
    """An absence, and the block during which it happened, which was measured again."""

    case: Number | None = None
    """Number of that block's case; None if it happened during no block."""
    process: Number | None = None
    """Number of the block's process; None as for `case`."""
    round: Number | None = None
    """Number of the block's round; None as for `case`."""


NAMED = {"mbench": "mbench was stopped", "worker": "a worker was stopped",
         "machine": "the machine was suspended"}  # fmt: skip
"""How reports name what was absent."""


def said_of_absences(found: Sequence[AbsenceRecord]) -> str:
    """All absences in one sentence: how often, how long, and what came of it."""
    kinds = {(one.what, one.host) for one in found}
    what, host = next(iter(kinds))
    said = NAMED.get(what, f"{what} was stopped") if len(kinds) == 1 else "mbench was stopped"
    if len(kinds) == 1 and host:
        said = f"{said} on {host}" if what != "mbench" else f"the agent on {host} was stopped"
    seconds = [one.seconds for one in found if not one.times]
    if not seconds:
        said += f" {counted(sum(one.times for one in found), 'time')} for a moment"
    elif len(seconds) == 1:
        said += f" for {seconds[0]:.1f} s"
    else:
        said += f" {len(seconds)} times, for {min(seconds):.1f} to {max(seconds):.1f} s"
    blocks = {(one.case, one.process, one.round) for one in found if one.case is not None}
    if not blocks:
        return said + ", while no block was timed"
    return said + f"; {counted(len(blocks), 'block')} measured again"
