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
"""Kinds of call. A copy may also say its direction: "copy host to device". A graph is a call whose
kernels the profiler does not list individually."""


@dataclass(frozen=True, kw_only=True)
class DeviceCall:
    """Calls that are identical except for their time."""

    kind: str
    name: str
    """The full name, as the profiler writes it."""
    launch: str
    """How a kernel was launched: "grid 8x12x1 block 128x1x1"; empty if unknown."""
    count: int
    milliseconds: float
    """Total time of these calls by the profiler's own clock; this is not a timing of the step."""
    moved_bytes: float | None
    """Total over these calls, for copies and memory sets, if the profiler reports it."""

    def __post_init__(self) -> None:
        sizes = (self.milliseconds, self.moved_bytes or 0.0)
        if self.count < 1 or not all(0 <= size < math.inf for size in sizes):
            raise Malformed("DeviceCall.count should be 1 or more, its time and bytes 0 or more")


@dataclass(frozen=True, kw_only=True)
class Traced:
    """The calls of one step in the order of the trace."""

    calls: list[DeviceCall]
    other_events: int
    """Number of other events in the trace, mostly on the host. Above 0, the trace could be read
    even if it has no calls."""
    unread: int
    """Number of calls without a readable time."""


CONTRACT = 1
"""The version of this contract. It is raised when an adapter written for the previous version would
break. A new member with a default breaks nothing, nor does a member that is no longer used.
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
    """A program that the framework calls in a worker and that pip cannot install."""

    programs: Sequence[str]
    """Alternative names on PATH, any one of which is enough: ("clang", "clang-16")."""
    remedy: str
    """How to install it, as the end of a sentence: "apt install clang"."""


class Unsupported(Exception):
    """Raised by a runtime for a case that this build, device or version cannot run; says why."""


@dataclass(frozen=True, kw_only=True)
class FrameworkInfo:
    """What a worker found: versions and settings of the framework that it actually runs."""

    version: str
    """Version of the framework."""
    devices: list[str]
    """Kinds of device that work here: "cpu", "cuda"."""
    device_name: str
    """The device used."""
    device_address: str = ""
    """Where it is on the machine's bus, "0000:3b:00.0"; empty if that is not known."""
    threads: int
    """Threads that the framework says it uses."""
    versions: dict[str, str] = field(default_factory=dict)
    """Versions of the distributions that matter beside the framework."""
    details: dict[str, str] = field(default_factory=dict)
    """Whatever else describes the build: math libraries, instruction sets, CUDA and cuDNN."""


@runtime_checkable
class Adapter(Protocol):
    """The description of one framework, on the parent's side.

    Its module must import fast and without the framework, because every command reads it. An
    adapter may leave out whatever `mbench.sdk.plugin.AdapterBase` has a default for, whether or not
    it derives from that class.
    """

    name: str
    """What users type: "torch"."""
    title: str
    """How the framework writes its own name: "PyTorch"."""
    contract: int
    """The CONTRACT that the adapter was written for; 1 if it does not say."""
    imports: Sequence[str]
    """Modules that an interpreter must be able to import to run the framework."""
    runtime: str
    """The Runtime as "module:Class", resolved in the worker only."""
    models: str
    """The package whose modules implement mbench's models, each named after a family; a proof of
    one family does not depend on the other families' modules. Empty if there is none."""
    compilers: Mapping[str, str]
    """Compiler names, each with a one-line description, the plainest first."""
    tiers: Mapping[str, Tier]
    """What is set in the tiers `default` and `tuned`; empty if that is not defined."""
    devices: Sequence[str]
    """Kinds of device that it runs on, by name: "cpu", "cuda"."""
    parallel: str
    """The framework's own mechanism for training one model in several processes, each with its own
    device and batch, as its documentation names it; empty if it has none."""
    switches: Sequence[str]
    """Compilers that also have a command-line option of their own name, besides `--compiler`."""
    tuned_by: Sequence[str]
    """Prefixes of environment variables that tune the framework; "JIT=" is a whole name. mbench
    looks for them in its environment and writes them into results, so they must not match a
    variable that holds secrets.
    """

    needs: Sequence[Need]
    """Programs that the machine must have besides the environment, such as a compiler."""

    def requirements(self, version: str | None, accelerator: str) -> Sequence[str]:
        """Pinned pip requirements of a managed environment, the framework's own first.

        `version` replaces the adapter's own pin of the framework; `accelerator` is "cpu" or
        "cuda".
        """

    def index_hint(self, accelerator: str) -> str:
        """A sentence fragment to show when pip cannot find a distribution named by `requirements`:
        which index has it, if not the default one. Empty if there is nothing to say.
        """

    def python(self, version: str | None) -> str:
        """The Python versions that the framework supports, as a specifier: ">=3.10,<3.14"."""

    def variables(self, *, threads: int, device: str) -> Mapping[str, str]:
        """Variables that must be set before the framework is imported, besides those of tiers and
        OMP_NUM_THREADS, MKL_NUM_THREADS, OPENBLAS_NUM_THREADS and NUMEXPR_NUM_THREADS, which every
        worker gets. Variables that the user has set are left unchanged.
        """

    def supports(self, case: Case) -> Support:
        """Whether the case can run, as far as this is known without importing the framework."""

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
        """Import and set up the framework; raises Unsupported if it cannot use the device.

        `place` is given only if several processes share a case: in training, each step then updates
        by the mean of all ranks' gradients, exchanged by the framework's own mechanism. A Runtime
        that does not accept it can only run cases with one process.
        `device_memory_bytes` is how much device memory the framework's allocator may use, enforced
        by the framework's own mechanism. A Runtime that does not accept it, or has no such
        mechanism, is monitored from outside and ended if it holds more.
        """

    def describe(self) -> FrameworkInfo:
        """Describe the framework as installed here."""

    def prepare(self, work: Work) -> Benchmark:
        """Build what a case works on. Raises Unsupported if a toggle would have no effect."""

    def shapes(self, workload: Workload) -> Mapping[str, Sequence[int]]:
        """All tensors' shapes by canonical name, in canonical layout; the model is not allocated.

        For models that are too large to be proven whole. Raises Unsupported if the framework cannot
        build a model without allocating it.
        """

    def profile(self, step: Callable[[], None], folder: str) -> Traced:
        """Run `step`, whose work is done when it returns, under the framework's own profiler, once
        and untimed. Returns the device's calls, and writes the trace itself to the empty `folder`.

        Raises Unsupported if there is no such profiler. This method is optional.
        """

    def is_out_of_memory(self, error: Exception) -> bool:
        """Whether `error` is how the framework reports that it ran out of memory. This method is
        optional: MemoryError and the system's own messages are recognised anyway.
        """
