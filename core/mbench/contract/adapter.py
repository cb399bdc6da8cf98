"""What an adapter provides: a light description, and a runtime that prepares benchmarks."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mbench.contract.compat import Protocol, runtime_checkable
from mbench.contract.rank import SINGLE
from mbench.contract.reading import Malformed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mbench.contract.benchmark import Benchmark
    from mbench.contract.case import Case
    from mbench.contract.rank import RankInfo
    from mbench.contract.scenario import Work
    from mbench.contract.tier import Tier
    from mbench.contract.workload import Workload

__all__ = ["CONTRACT", "COPY", "GRAPH", "KERNEL", "SET", "SUPPORTED", "Adapter", "DeviceCall",
           "FrameworkInfo", "Need", "Runtime", "Support", "Traced", "Unsupported"]  # fmt: skip

KERNEL, COPY, SET, GRAPH = "kernel", "copy", "set", "graph"
"""Kinds of call. A copy may say its direction besides: "copy host to device". A graph is one whose
kernels the profiler does not tell one by one."""


@dataclass(frozen=True, kw_only=True)
class DeviceCall:
    """Calls that differ in nothing but their time."""

    kind: str
    name: str
    """As the profiler writes it, whole."""
    launch: str
    """How a kernel was launched: "grid 8x12x1 block 128x1x1"; empty where that is not told."""
    count: int
    milliseconds: float
    """Of all of them, by the profiler's own clock: no timing of the step."""
    moved_bytes: float | None
    """By all of them, where the profiler tells: of copies, and of memory that is set."""

    def __post_init__(self) -> None:
        sizes = (self.milliseconds, self.moved_bytes or 0.0)
        if self.count < 1 or not all(0 <= size < math.inf for size in sizes):
            raise Malformed("DeviceCall.count should be 1 or more, its time and bytes 0 or more")


@dataclass(frozen=True, kw_only=True)
class Traced:
    """The calls of one step in the order of the trace."""

    calls: list[DeviceCall]
    other_events: int
    """What the trace tells besides, of the host mostly: so a trace without calls was read."""
    unread: int
    """Calls without a time that can be read."""


CONTRACT = 1
"""The number of this contract. It is raised where an adapter that was written for the one before
would break. A new member that has a default breaks none, nor does one that is asked for no more.
"""


@dataclass(frozen=True)
class Support:
    """Whether a case can run, and if it cannot, the reason as a user should read it."""

    supported: bool
    reason: str = ""

    @classmethod
    def no(cls, reason: str) -> Support:
        return cls(False, reason)


SUPPORTED = Support(True)


@dataclass(frozen=True)
class Need:
    """A program that the framework calls in a worker, and that pip cannot install."""

    programs: Sequence[str]
    """Their names on PATH, any of which is enough: ("clang", "clang-16")."""
    remedy: str
    """How to install it, as the end of a sentence: "apt install clang"."""


class Unsupported(Exception):
    """Raised by a runtime for a case that this build, device or version cannot do; says why."""


@dataclass(frozen=True, kw_only=True)
class FrameworkInfo:
    """What a worker found: the framework it really runs, as versions and settings."""

    version: str
    """Version of the framework."""
    devices: list[str]
    """Kinds of device that work here: "cpu", "cuda"."""
    device_name: str
    """The device used."""
    device_address: str = ""
    """Where it is on the machine's bus, "0000:3b:00.0"; empty where that is not known."""
    threads: int
    """Threads that the framework says it uses."""
    versions: dict[str, str] = field(default_factory=dict)
    """Versions of the distributions that matter beside the framework."""
    details: dict[str, str] = field(default_factory=dict)
    """Whatever else describes the build: math libraries, instruction sets, CUDA and cuDNN."""


@runtime_checkable
class Adapter(Protocol):
    """The description of one framework, on the parent's side.

    Its module must import without the framework, and fast: every command reads it. What
    `mbench.sdk.plugin.AdapterBase` has a default for may be left out, by an adapter that derives
    from it and by any other.
    """

    name: str
    """What users type: "torch"."""
    title: str
    """How the framework writes its own name: "PyTorch"."""
    contract: int
    """The CONTRACT that the adapter was written for; 1 where it does not say."""
    imports: Sequence[str]
    """Modules that must be importable for an interpreter to serve as the framework's home."""
    runtime: str
    """The Runtime as "module:Class", resolved in the worker only."""
    models: str
    """The package whose modules implement mbench's models, each named for a family; a proof of
    one family does not depend on the others' modules. Empty for none."""
    compilers: Mapping[str, str]
    """Compiler names and one line on each, the plainest first."""
    tiers: Mapping[str, Tier]
    """What is set in the tiers `default` and `tuned`; empty where nobody wrote it down."""
    devices: Sequence[str]
    """Kinds of device that it computes on, by name: "cpu", "cuda"."""
    parallel: str
    """The framework's own means by which processes train one model together, each on a device and
    a batch of its own, as its documentation names it; empty: it has none."""
    switches: Sequence[str]
    """Compilers that have an option of their name on the command line, beside `--compiler`."""
    tuned_by: Sequence[str]
    """How the names of the environment variables begin that tune the framework; "JIT=" is a whole
    name. They are looked for around mbench and written into results, so they must fit no variable
    that holds secrets.
    """

    needs: Sequence[Need]
    """Programs that the machine must have beside the environment, such as a compiler."""

    def requirements(self, version: str | None, accelerator: str) -> Sequence[str]:
        """Pinned pip requirements of a managed environment, the framework's own first.

        `version` replaces the adapter's own pin of the framework; `accelerator` is "cpu" or
        "cuda".
        """

    def index_hint(self, accelerator: str) -> str:
        """What to say, in part of a sentence, where pip finds no distribution that `requirements`
        names: which index has it, if it is not the default one. Empty if there is nothing to say.
        """

    def python(self, version: str | None) -> str:
        """The Python versions that the framework runs on, as a specifier: ">=3.10,<3.14"."""

    def variables(self, *, threads: int, device: str) -> Mapping[str, str]:
        """Variables that must stand before the framework is imported, beside OMP_NUM_THREADS,
        MKL_NUM_THREADS, OPENBLAS_NUM_THREADS and NUMEXPR_NUM_THREADS, which every worker gets, and
        those of tiers. What the user has set stays as it is.
        """

    def supports(self, case: Case) -> Support:
        """Whether the case can run, as far as can be told without importing the framework."""

    def mixed(self, device: str) -> str:
        """The precision that `--amp` means on this device."""


class Runtime(Protocol):
    """The adapter's worker side: imports the framework when constructed."""

    def __init__(
        self,
        *,
        device: str,
        threads: int,
        place: RankInfo = SINGLE,
        device_memory_bytes: int | None = None,
    ) -> None:
        """Import and set up the framework; raises Unsupported if it lacks the device.

        `place` is given only where several processes work on a case together: in training, each
        step then updates by the mean of all ranks' gradients, exchanged by the framework's own
        means. A Runtime that does not take it serves a case of one process.
        `device_memory_bytes` is what the framework's allocator may take of the device, by the
        framework's own means. A Runtime that does not take it, or has no such means, is watched
        from outside, and ended where it holds more.
        """

    def describe(self) -> FrameworkInfo:
        """The framework as it is here."""

    def prepare(self, work: Work) -> Benchmark:
        """Build what a case works on. Raises Unsupported where a toggle would have no effect."""

    def shapes(self, workload: Workload) -> Mapping[str, Sequence[int]]:
        """All tensors of the model by canonical name, in canonical layout, without allocating it.

        For models that are too large to be proven whole. Raises Unsupported where the framework
        cannot build a model without its memory.
        """

    def profile(self, step: Callable[[], None], folder: str) -> Traced:
        """Make `step`, whose work is done when it returns, under the framework's own profiler, once
        and untimed: the calls of the device, and the trace itself in `folder`, which is empty.

        Raises Unsupported where there is no such profiler. It may be left out.
        """

    def is_out_of_memory(self, error: Exception) -> bool:
        """Whether the framework says by `error` that memory does not suffice. It may be left out:
        MemoryError and what the system says are known.
        """
