"""Starts the worker of one case: its interpreter, its variables, its framework."""

from __future__ import annotations

import os
import sys
from time import perf_counter_ns
from typing import TYPE_CHECKING

from mbench.contract import wire
from mbench.contract.axes import STEADY
from mbench.contract.rank import ranks_of
from mbench.contract.worker_state import SWITCHES, WorkerState
from mbench.engine import local
from mbench.engine.isolation import inherited_variables, worker_variables
from mbench.engine.memory import allocator_bytes
from mbench.engine.outcome import CaseEnded
from mbench.environments.contents import versions_differ
from mbench.errors import MbenchError
from mbench.machine import memory_layout
from mbench.plugins.launcher import Program

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from mbench.contract.adapter import Adapter, FrameworkInfo
    from mbench.contract.case import Case
    from mbench.environments.environment import Environment
    from mbench.plugins.launcher import Launcher, Worker

__all__ = ["examine", "launch"]


def launch(
    adapter: Adapter,
    environment: Environment,
    case: Case,
    *,
    log: Path,
    timeout: float,
    memory_limit_bytes: int | None = None,
    launcher: Launcher = local.start,
    timed: bool = False,
) -> tuple[Worker, FrameworkInfo]:
    """A worker with its framework imported, and the framework's description; raises CaseEnded.

    `memory_limit_bytes` limits the worker's use of the memory of the device that it computes on. If
    the worker is to be `timed`, nothing may slow it down unless the user asked for it.
    """
    steadily = case.steadiness == STEADY
    try:
        program = Program(
            python=environment.python,
            modules=tuple(
                reference.partition(":")[0]
                for reference in (adapter.runtime, case.workload, case.scenario)
                if reference
            ),
            variables={
                **(memory_layout.variables() if steadily else {}),
                **worker_variables(adapter, case),
                **environment.variables(),
                **case.variables,
            },
            log=log,
            steady_threads=case.threads if steadily else 0,
            device=case.device,
            around=inherited_variables([adapter]),
            timeout_seconds=timeout,
        )
        worker = launcher(program, ranks_of(case.parsed_scale))
    except (CaseEnded, MbenchError) as error:
        raise with_hint(CaseEnded.of(error), environment) from None
    share = None
    if case.device == "cpu":
        worker.memory_limit_bytes = memory_limit_bytes
    elif memory_limit_bytes is not None:
        share = allocator_bytes(memory_limit_bytes)
    try:
        info = worker.start(
            wire.Start(
                runtime=adapter.runtime,
                device=case.device,
                threads=case.threads,
                device_memory_bytes=share,
            )
        )
        worker.states = examine(worker, environment, case.variables, timed=timed)
    except CaseEnded as end:
        worker.kill()
        raise with_hint(end, environment) from None
    except BaseException:  # even Ctrl-C must not leave a process
        worker.kill()
        raise
    return worker, info


def with_hint(end: CaseEnded, environment: Environment) -> CaseEnded:
    """The end of a worker that did not start, with a hint on what may help."""
    hint = environment.hint()
    if end.outcome not in ("crashed", "failed") or not hint or environment.remedy in end.reason:
        return end
    return CaseEnded(end.outcome, f"{end.reason} ({hint})", log=end.log)


PATHS = ("LD_LIBRARY_PATH", "PYTHONPATH")
ALLOCATORS = {"MALLOC_CONF": "jemalloc", "MIMALLOC_": "mimalloc", "TCMALLOC_": "tcmalloc"}
"""Prefixes of variables that only one allocator reads, each with a part of its file name."""
OF_LIBC = ("MALLOC_ARENA_", "MALLOC_MMAP_", "MALLOC_TOP_PAD_", "MALLOC_TRIM_THRESHOLD_")
LIBC = ("libc.so", "libc-")


def examine(
    worker: Worker, environment: Environment, asked: Mapping[str, str], *, timed: bool
) -> list[WorkerState]:
    """The state of each process of a worker; raises CaseEnded if it contradicts the record of the
    environment or the variables that the arm asks for.

    If it is to be `timed`, nothing may slow down its interpreter unless the arm asks for it.
    """
    begin = perf_counter_ns()
    states = worker.ask_all(wire.AskState(), WorkerState)
    end = perf_counter_ns()
    for rank, (state, process) in enumerate(zip(states, worker.processes, strict=False)):
        here = not process.host
        found = [
            *unlike_record(state, environment, asked),
            *([] if not here else ignored_folders(asked)),
            *ignored_libraries(state, asked),
            *(slowed(state, environment, asked) if timed else ()),
        ]
        if here and sys.platform == "linux" and not begin <= state.clock <= end:
            found.append("its clock is not the machine's monotonic clock, so its times are wrong")
        if rank and (different := versions_differ(states[0].packages, state.packages)):
            found.append(f"its packages differ from those of rank 0: {different}")
        if found:
            who = f"rank {rank} of {len(states)}: " if len(states) > 1 else ""
            raise CaseEnded("failed", who + found[0], log=worker.log)
    return states


def unlike_record(
    state: WorkerState, environment: Environment, asked: Mapping[str, str]
) -> Iterator[str]:
    """How a managed environment has changed since it was built."""
    if not environment.managed or any(name.startswith("PYTHON") for name in asked):
        return
    different = versions_differ(environment.packages, state.packages)
    if not different and environment.digests:
        different = versions_differ(environment.digests, state.digests)
        different = different and f"the files of {different.split()[0]} were replaced"
    if different:
        yield f"its environment was changed after it was built: {different}; {environment.remedy}"


def ignored_folders(asked: Mapping[str, str]) -> Iterator[str]:
    for variable in PATHS:
        for folder in filter(None, asked.get(variable, "").split(os.pathsep)):
            if "$" not in folder and not os.path.exists(folder):
                yield f"its {variable} contains {folder}, which does not exist"


def ignored_libraries(state: WorkerState, asked: Mapping[str, str]) -> Iterator[str]:
    """Settings that the dynamic linker or an allocator ignored."""
    for setting, path in state.preloaded.items():
        if not path:
            variable, _, library = setting.partition("=")
            yield (
                f"its {setting} was ignored: {library} is not loaded in its process. Correct the "
                f"path, or leave {variable} out"
            )
    if not state.allocator:
        return
    file = os.path.basename(state.allocator)
    for name in asked:
        reader = next((part for start, part in ALLOCATORS.items() if name.startswith(start)), "")
        if reader and reader not in file:
            yield f"its {name} has no effect: {reader} reads it, but its malloc comes from {file}"
        if name.startswith(OF_LIBC) and not file.startswith(LIBC):
            yield (
                f"its {name} has no effect: the C library reads it, but its malloc comes from "
                f"{file}"
            )


def slowed(state: WorkerState, environment: Environment, asked: Mapping[str, str]) -> Iterator[str]:
    """Debugging aids that are on although nobody asked for them."""
    chosen = not environment.managed and str(environment.python) != sys.executable
    for switch, cause in state.slowing.items():
        if switch == "debug build" and chosen:  # its path was given
            continue
        allowed = SWITCHES.get(switch, ())
        if not any(name in asked for name in allowed):
            yield said(switch, cause, allowed)


def said(switch: str, cause: str, allowed: Sequence[str]) -> str:
    """Why a case is not measured, and what to do about it."""
    set_by = next((name for name in allowed if cause.startswith(f"{name}=")), "")
    hint = "turn it off"
    if set_by:
        hint = f"unset {set_by}, or ask for it in an arm (FRAMEWORK:{cause})"
    does = "makes its times wrong" if switch == "changed clock" else "slows its Python down"
    return f"{switch} {does} ({cause}): {hint}"
