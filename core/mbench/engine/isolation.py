"""What keeps processes of a case apart: cores, open files, variables, temporary folders."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mbench.console import counted
from mbench.contract.device import HOST
from mbench.contract.tier import tier_of
from mbench.errors import MbenchError
from mbench.machine.devices import kind
from mbench.machine.locks import lock

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from mbench.contract.adapter import Adapter
    from mbench.contract.case import Case
    from mbench.contract.rank import RankInfo

__all__ = [
    "OF_AGENT",
    "OF_LOCAL",
    "OF_REMOTE",
    "TemporaryFolder",
    "allow_open_files",
    "cores_of",
    "inherited_variables",
    "own_cores",
    "scratch",
    "scratch_variables",
    "temporary_folder",
    "thread_variables",
    "tuning",
    "worker_variables",
]


def cores_of(rank_info: RankInfo, usable: Collection[int]) -> set[int]:
    """The cores of one of `local_ranks` processes: adjacent, and the same number for each.

    If there are fewer cores than processes, some share one.
    """
    cores = sorted(usable)
    each = len(cores) // rank_info.local_ranks
    if not each:
        return {cores[rank_info.local_rank % len(cores)]}
    return set(cores[rank_info.local_rank * each : (rank_info.local_rank + 1) * each])


@contextmanager
def own_cores(rank_info: RankInfo) -> Iterator[None]:
    """Processes that this thread starts in the block get cores of their own if others share the
    machine.
    """
    if rank_info.local_ranks == 1 or not hasattr(os, "sched_setaffinity"):
        yield
        return
    usable = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores_of(rank_info, usable))
    try:
        yield
    finally:
        os.sched_setaffinity(0, usable)


OF_LOCAL = 4
"""Open files per process on this machine: two pipes, a leash, and one that signals its end."""
OF_AGENT = 2
"""Open files per process of an agent: its leash, and the one that signals its end."""
OF_REMOTE = 1
"""Open files per process on another machine: its connection."""
SPARE = 128
"""Open files for everything else, and for starting a process."""
OPEN = "/dev/fd"


def allow_open_files(ranks: int, *, each: int) -> None:
    """Make sure that `ranks` more processes can be started; raises MbenchError if they cannot.

    The soft limit is raised only if it is too low, since children inherit it.
    """
    needed = len(os.listdir(OPEN)) + ranks * each + SPARE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or needed <= soft:
        return
    if hard != resource.RLIM_INFINITY and needed > hard:
        raise MbenchError(
            f"{counted(ranks, 'process')} and mbench itself need about {needed} open files, but "
            f"{hard} are allowed here: raise the hard limit (ulimit -Hn)"
        )
    with contextlib.suppress(ValueError, OSError):  # on systems with a limit below the hard one
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


COMMON = ("BLIS_", "CUBLAS_", "CUDA_", "CUDNN_", "DNNL_", "GLIBC_TUNABLES", "GOMP_", "KMP_",
          "LD_AUDIT", "LD_LIBRARY_PATH", "LD_PRELOAD", "MALLOC_", "MIMALLOC_", "MKL_",
          "NVIDIA_TF32_OVERRIDE", "NVIDIA_VISIBLE_DEVICES", "OMP_", "ONEDNN_", "OPENBLAS_",
          "PYTHONDEVMODE", "PYTHONMALLOC", "PYTHONOPTIMIZE", "PYTHONPERFSUPPORT",
          "PYTHONTRACEMALLOC", "PYTHON_GIL", "PYTHON_JIT", "TCMALLOC_")  # fmt: skip
"""Prefixes of variables of the math libraries, allocators and devices that frameworks share, and of
those that change Python's speed."""


def thread_variables(threads: int) -> dict[str, str]:
    """The variables that set the number of threads of the usual math libraries."""
    names = ("OMP", "MKL", "OPENBLAS", "NUMEXPR")
    return {f"{name}_NUM_THREADS": str(threads) for name in names}


def worker_variables(adapter: Adapter, case: Case) -> dict[str, str]:
    """The variables that mbench sets for a worker: those for threads, and those of the adapter and
    the tier that the user has not set.
    """
    tier = tier_of(adapter, case.tier)
    asked = {**adapter.variables(threads=case.threads, device=case.device)}
    asked |= tier.variables if tier else {}
    asked |= kind(case.device).variables() if case.device != HOST else {}
    left = {name: value for name, value in asked.items() if name not in os.environ}
    return {**left, **thread_variables(case.threads)}


def inherited_variables(adapters: Collection[Adapter]) -> dict[str, str]:
    """The variables of mbench's process that affect workers of any of `adapters`, by name.

    Workers inherit them, and results may depend on them. Those for threads are left out, as mbench
    overwrites them.
    """
    ours = thread_variables(1)
    found = tuning(dict(sorted(os.environ.items())), adapters)
    return {name: value for name, value in found.items() if name not in ours}


def tuning(variables: Mapping[str, str], adapters: Collection[Adapter]) -> dict[str, str]:
    """Those of `variables` that affect workers of any of `adapters`, judging by their names."""
    named = {name for adapter in adapters for tier in adapter.tiers.values()
             for name in tier.variables}  # fmt: skip
    prefixes = (*COMMON, *(prefix for adapter in adapters for prefix in adapter.tuned_by))
    return {
        name: value
        for name, value in variables.items()
        if f"{name}=".startswith(prefixes) or name in named
    }


FOLDER_PREFIX = "mbench-"
OWNER = ".owner"
"""A file that is locked while its folder's owner lives: the system releases the lock however the
owner ends. Process ids would not do where several containers share a folder."""

REMOVALS, REMOVAL_SECONDS = 20, 0.05
"""Most attempts to remove a folder, and the pause between two of them."""

_open: list[str] = []
"""Scratch folders of this process, the innermost last."""


class TemporaryFolder:
    """A temporary folder that is removed when it is closed."""

    def __init__(self) -> None:
        """Create the folder, and remove those whose owners have ended."""
        sweep(Path(tempfile.gettempdir()))
        self.path = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX))
        new = self.path / f"{OWNER}.new"
        self._lock = os.open(new, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        with contextlib.suppress(OSError):
            if lock(self._lock):  # nothing is swept on a file system without locks
                new.rename(self.path / OWNER)  # so it is not visible before it is locked

    def close(self) -> None:
        """May be called more than once."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1
            for _ in range(REMOVALS):  # a process that is just ending may still write into it
                shutil.rmtree(self.path, ignore_errors=True)
                if not self.path.exists():
                    break
                time.sleep(REMOVAL_SECONDS)


def sweep(parent: Path) -> None:
    """Remove our folders whose owners have ended."""
    for owner in parent.glob(f"{FOLDER_PREFIX}*/{OWNER}"):
        try:
            if owner.parent.is_symlink() or owner.parent.stat().st_uid != os.geteuid():
                continue
            opened = os.open(owner, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:  # another user's, or it is being removed
            continue
        try:
            if lock(opened):
                shutil.rmtree(owner.parent, ignore_errors=True)
        except BlockingIOError:
            pass  # its owner lives
        finally:
            os.close(opened)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A temporary folder for the duration of the block."""
    made = TemporaryFolder()
    try:
        yield made.path
    finally:
        made.close()


@contextmanager
def scratch() -> Iterator[None]:
    """Workers started in the block keep temporary files in a folder that is removed afterwards.

    Each command has a new folder: a compiler that is killed leaves half a file behind, which the
    next one would mistake for a kernel. The folder of a killed process is removed when the next one
    is created.
    """
    with temporary_folder() as path:
        _open.append(str(path))
        try:
            yield
        finally:
            _open.remove(str(path))


def scratch_variables() -> Mapping[str, str]:
    """The variables that tell a worker where the scratch folder is; empty if none is open."""
    return {"TMPDIR": _open[-1]} if _open else {}
