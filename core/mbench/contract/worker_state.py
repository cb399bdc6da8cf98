"""What a worker reports of its own process: how its interpreter runs, and in what environment."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["SWITCHES", "StateRecord", "WorkerState"]

HOOKS = ("COVERAGE_PROCESS_CONFIG", "COVERAGE_PROCESS_START", "PYTHONPATH")
SWITCHES = {
    "tracemalloc": ("PYTHONTRACEMALLOC",),
    "development mode": ("PYTHONDEVMODE",),
    "debug allocator": ("PYTHONMALLOC", "PYTHONDEVMODE", "MALLOC_CHECK_", "MALLOC_PERTURB_",
                        "GLIBC_TUNABLES", "LD_PRELOAD"),
    "allocator statistics": ("PYTHONMALLOCSTATS",),
    "debugging library": ("LD_PRELOAD", "LD_AUDIT"),
    "debug build": (),
    "trace function": HOOKS,
    "profile function": HOOKS,
    "monitoring tool": HOOKS,
    "perf trampoline": ("PYTHONPERFSUPPORT", "PYTHON_PERF_JIT_SUPPORT"),
    "interval timer": HOOKS,
    "garbage collector's debug flags": (),
    "switch interval": (),
    "debugger": (),
    "changed clock": (),
}  # fmt: skip
"""What slows an interpreter down or falsifies its times, and the variables by which an arm requests
it; if anything else sets it, it was left over or got there unnoticed."""


@dataclass(frozen=True, kw_only=True)
class StateRecord:
    """What is kept of a worker's state. A field is empty if the system does not report it."""

    interpreter: str
    """Its implementation and version."""
    flags: dict[str, int] = field(default_factory=dict)
    """`sys.flags` that are not 0."""
    slowing: dict[str, str] = field(default_factory=dict)
    """Debugging aids that are on and slow the process down, or what makes its times wrong, each
    with its cause."""
    garbage_collector: str
    """Thresholds of Python's garbage collector, or "off"."""
    allocator: str
    """The file whose `malloc` is used."""
    preloaded: dict[str, str] = field(default_factory=dict)
    """Libraries that LD_PRELOAD and LD_AUDIT name, each with the file that was mapped for it; empty
    if none was."""
    libraries: dict[str, str] = field(default_factory=dict)
    """Shared libraries that are mapped from outside the environment, each with its size and
    modification time in one text."""
    threads: int | None = None
    """Threads of the process."""
    cores: str
    """Hardware threads that the process may use: "0-3,8"."""
    scheduling: str
    """Policy, niceness and I/O priority, where they are not the usual ones."""
    limits: dict[str, int] = field(default_factory=dict)
    """Soft limits of resources that are not infinite, by name."""
    boot_id: str
    """The kernel's id of this boot: the same for all processes on a machine, in containers too."""


@dataclass(frozen=True, kw_only=True)
class WorkerState(StateRecord):
    """One process before its first step, seen from inside."""

    packages: dict[str, str]
    """All installed distributions and their versions."""
    digests: dict[str, str]
    """Digests of the distributions' lists of files."""
    clock: int
    """The machine's monotonic clock, in nanoseconds, when the state was read."""
