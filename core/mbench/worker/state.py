"""Looks at the worker's own process: interpreter, debugging aids, libraries, limits.

It reports the actual state, whatever was requested; the parent compares. Nothing here runs within
a block, and nothing imports a framework.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import platform
import resource
import signal
import sys
import threading
import time
from types import BuiltinFunctionType
from typing import TYPE_CHECKING, NamedTuple

from mbench.contract.installed import digests, distributions, packages
from mbench.contract.worker_state import WorkerState

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["look"]

DEBUG_ALLOCATORS = ("debug", "malloc_debug", "pymalloc_debug", "mimalloc_debug")
DEBUG_LIBRARIES = ("libasan", "libc_malloc_debug", "libefence", "libhwasan", "liblsan",
                   "libmemusage", "libmsan", "libpcprofile", "libtsan", "libubsan",
                   "vgpreload_")  # fmt: skip
"""Prefixes of the names of libraries that check or trace each allocation or access."""
CLOCK_LIBRARIES = ("libfaketime",)
CLOCKS = ("monotonic", "perf_counter", "perf_counter_ns", "time")
TIMERS = {"ITIMER_REAL": signal.SIGALRM, "ITIMER_VIRTUAL": signal.SIGVTALRM,
          "ITIMER_PROF": signal.SIGPROF}  # fmt: skip
USUAL_SWITCH_SECONDS = 0.005
TOOLS = 6
"""Number of tool ids of sys.monitoring."""
PRELOADS = ("LD_AUDIT", "LD_PRELOAD")
IOPRIO_GET = {"aarch64": 31, "x86_64": 252}
"""The system call's number, by architecture."""
IO_CLASSES = {1: "realtime", 2: "best-effort", 3: "idle"}
PATH = list(sys.path)
"""sys.path before frameworks extend it, some of them with folders of bundled distributions."""
LIMITS = ("AS", "CPU", "DATA", "FSIZE", "MEMLOCK", "NOFILE", "NPROC", "RSS", "STACK")


class Mapped(NamedTuple):
    """A part of a file that is mapped into this process's memory."""

    begin: int
    end: int
    path: str


def look() -> WorkerState:
    """The current state of this process."""
    found = distributions(PATH)
    mapped = list(mapped_files())
    paths = sorted({one.path for one in mapped if ".so" in os.path.basename(one.path)})
    return WorkerState(
        packages=packages(found),
        digests=digests(found),
        clock=time.perf_counter_ns(),
        interpreter=f"{platform.python_implementation()} {platform.python_version()}",
        flags=flags(),
        slowing=dict(slowing(paths)),
        garbage_collector=str(gc.get_threshold()) if gc.isenabled() else "off",
        allocator=allocator(mapped),
        preloaded=dict(preloaded(paths)),
        libraries={path: stamp(path) for path in paths if is_outside(path)},
        threads=threads(),
        cores=cores(),
        scheduling=", ".join(scheduling()),
        limits=dict(limits()),
        boot_id=read("/proc/sys/kernel/random/boot_id"),
    )


def read(path: str) -> str:
    with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
        return file.read().strip()
    return ""


def flags() -> dict[str, int]:
    names = [name for name in dir(sys.flags) if not name.startswith(("_", "n_"))]
    found = {name: getattr(sys.flags, name) for name in names}
    return {name: int(value) for name, value in found.items()
            if isinstance(value, int) and value}  # fmt: skip


def slowing(paths: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Names of SWITCHES, each with its cause."""
    with contextlib.suppress(ImportError):
        import _tracemalloc

        if _tracemalloc.is_tracing():
            yield "tracemalloc", cause("PYTHONTRACEMALLOC", "tracemalloc.start() was called")
    if sys.flags.dev_mode:
        yield "development mode", cause("PYTHONDEVMODE", "-X dev")
    yield from debugging(paths)
    yield from hooks()
    for name, number in TIMERS.items():
        _, interval = signal.getitimer(getattr(signal, name))
        if interval:
            yield "interval timer", f"{number.name} every {interval:g} s, as in sampling profilers"
    if gc.get_debug():
        yield "garbage collector's debug flags", f"gc.set_debug({gc.get_debug()})"
    if sys.getswitchinterval() < USUAL_SWITCH_SECONDS / 2:
        yield "switch interval", f"threads take turns every {sys.getswitchinterval():g} s"
    tracer = status("TracerPid")
    if tracer not in ("", "0"):
        name = read(f"/proc/{tracer}/comm")
        yield "debugger", f"process {tracer}" + (f" ({name})" if name else "") + " traces it"
    for name in CLOCKS:
        if not isinstance(getattr(time, name), BuiltinFunctionType):
            yield "changed clock", f"time.{name} was replaced"
            break
    for path in paths:
        if os.path.basename(path).startswith(CLOCK_LIBRARIES):
            yield "changed clock", path


def debugging(paths: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What checks each allocation or access."""
    if hasattr(sys, "gettotalrefcount"):
        yield "debug build", "the interpreter was built with --with-pydebug"
    if not sys.flags.ignore_environment:
        if os.environ.get("PYTHONMALLOC") in DEBUG_ALLOCATORS:
            yield "debug allocator", cause("PYTHONMALLOC", "")
        if os.environ.get("PYTHONMALLOCSTATS"):
            yield "allocator statistics", cause("PYTHONMALLOCSTATS", "")
    if os.environ.get("MALLOC_PERTURB_", "0") != "0":
        yield "debug allocator", cause("MALLOC_PERTURB_", "")
    tunables = os.environ.get("GLIBC_TUNABLES", "")
    if "glibc.malloc.check" in tunables or "glibc.malloc.perturb" in tunables:
        yield "debug allocator", cause("GLIBC_TUNABLES", "")
    for path in paths:
        if os.path.basename(path).startswith(DEBUG_LIBRARIES):
            yield "debugging library", path


def hooks() -> Iterator[tuple[str, str]]:
    """What is called at each line, call or event of Python."""
    for name, found in (
        ("trace function", sys.gettrace() or getattr(threading, "_trace_hook", None)),
        ("profile function", sys.getprofile() or getattr(threading, "_profile_hook", None)),
    ):
        if found is not None:
            yield name, named(found)
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is not None:
        tools = list(filter(None, map(monitoring.get_tool, range(TOOLS))))
        if tools:
            yield "monitoring tool", ", ".join(map(str, tools))
    active = getattr(sys, "is_stack_trampoline_active", None)
    if active is not None and active():
        yield "perf trampoline", cause("PYTHONPERFSUPPORT", "-X perf")


def cause(variable: str, otherwise: str) -> str:
    """The variable with its value if it is set, or else `otherwise`."""
    value = os.environ.get(variable)
    return f"{variable}={value}" if value else otherwise


def named(function: object) -> str:
    """A hook's module and name."""
    kind = function if hasattr(function, "__qualname__") else type(function)
    module = getattr(kind, "__module__", None)
    return ".".join(filter(None, (module, getattr(kind, "__qualname__", ""))))


def mapped_files() -> Iterator[Mapped]:
    for line in read("/proc/self/maps").splitlines():
        columns = line.split(None, 5)
        if len(columns) == 6 and columns[5].startswith("/"):
            begin, _, end = columns[0].partition("-")
            yield Mapped(int(begin, 16), int(end, 16), columns[5])


def is_outside(path: str) -> bool:
    """Whether a library is part of neither the environment nor its Python."""
    homes = {os.path.realpath(home) for home in (sys.prefix, sys.base_prefix)}
    system = {"/", "/usr", "/usr/local"}
    inside = any(path.startswith(home + os.sep) for home in homes - system)
    extension = os.sep + "lib-dynload" + os.sep
    return not inside and extension not in path and "-packages" + os.sep not in path


def stamp(path: str) -> str:
    try:
        about = os.stat(path)
    except OSError:
        return ""
    return f"{about.st_size} bytes of {int(about.st_mtime)}"


def allocator(mapped: Sequence[Mapped]) -> str:
    """The file that contains `malloc`, as dynamically linked code finds it."""
    with contextlib.suppress(OSError, AttributeError):
        address = ctypes.cast(ctypes.CDLL(None).malloc, ctypes.c_void_p).value or 0
        return next((one.path for one in mapped if one.begin <= address < one.end), "")
    return ""


def preloaded(paths: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each library that the dynamic linker was told to load first, and the file mapped for it."""
    for variable in PRELOADS:
        value = os.environ.get(variable, "")
        for name in value.replace(":", " ").split():
            yield f"{variable}={name}", mapped_for(name, paths)


def mapped_for(name: str, paths: Sequence[str]) -> str:
    """The mapped file that the dynamic linker uses for `name`; empty if there is none.

    A name without a slash is searched for in several folders, and tokens such as $LIB stand for
    other folders, so for these only the file name counts.
    """
    if "/" in name and "$" not in name:
        wanted = os.path.realpath(name)
        return next((path for path in paths if path == wanted), "")
    last = os.path.basename(name)
    return next((path for path in paths if os.path.basename(path).startswith(last)), "") or loaded(
        last
    )


def loaded(name: str) -> str:
    """`name` itself if the dynamic linker has loaded a library by it, perhaps through a link."""
    only_if_loaded = getattr(os, "RTLD_NOLOAD", None)
    if only_if_loaded is None:
        return ""
    try:
        ctypes.CDLL(name, mode=only_if_loaded | os.RTLD_LAZY)
    except OSError:
        return ""
    return name


def status(field: str) -> str:
    for line in read("/proc/self/status").splitlines():
        name, _, value = line.partition(":")
        if name == field:
            return value.strip()
    return ""


def threads() -> int | None:
    count = status("Threads")
    return int(count) if count.isdecimal() else None


def cores() -> str:
    """The hardware threads that this process may use, as ranges."""
    if not hasattr(os, "sched_getaffinity"):
        return ""
    spans: list[list[int]] = []
    for core in sorted(os.sched_getaffinity(0)):
        if spans and spans[-1][1] == core - 1:
            spans[-1][1] = core
        else:
            spans.append([core, core])
    return ",".join(f"{first}" if first == last else f"{first}-{last}" for first, last in spans)


def scheduling() -> Iterator[str]:
    """Any unusual scheduling of this process's access to cores and disks."""
    if hasattr(os, "sched_getscheduler"):
        known = {getattr(os, name): name for name in dir(os) if name.startswith("SCHED_")}
        with contextlib.suppress(OSError):
            policy = os.sched_getscheduler(0)
            if policy != os.SCHED_OTHER:
                yield known.get(policy, f"policy {policy}")
    nice = os.nice(0)
    if nice:
        yield f"nice {nice}"
    number = IOPRIO_GET.get(platform.machine()) if sys.platform == "linux" else None
    if number is not None:
        value = ctypes.CDLL(None).syscall(number, 1, 0)  # for the process itself
        if value > 0 and value >> 13 in IO_CLASSES and value != (2 << 13 | 4):
            yield f"I/O {IO_CLASSES[value >> 13]} {value & 0x1FFF}"


def limits() -> Iterator[tuple[str, int]]:
    for name in LIMITS:
        number = getattr(resource, f"RLIMIT_{name}", None)
        if number is not None:
            soft, _ = resource.getrlimit(number)
            if soft != resource.RLIM_INFINITY:
                yield name, soft
