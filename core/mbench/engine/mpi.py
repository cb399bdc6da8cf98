"""The launcher "mpi": agents on hosts that mpirun reaches, by ssh or as it is configured."""

from __future__ import annotations

import functools
import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mbench.console import counted, printable, tell
from mbench.engine.cluster import Cluster
from mbench.engine.hosts import JOB_FILES, hosts_in, hosts_of_job
from mbench.errors import UsageError
from mbench.machine.helper import NoAnswer, ask

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Mpi", "check", "detect", "open"]

OURS = "Open MPI"
ASK_SECONDS = 5.0


@dataclass(frozen=True)
class Mpi:
    """Open MPI's mpirun: one task on each host, bound to no core."""

    hosts: Sequence[str]
    name = "mpirun"

    def command(self, nodes: int, agent: Sequence[str], named: Sequence[str]) -> Sequence[str]:
        where = ",".join(f"{host}:1" for host in self.hosts[:nodes])
        passed = [word for name in named for word in ("-x", name)]
        return ["mpirun", *as_root(), "--host", where, "-n", str(nodes), "--map-by", "ppr:1:node",
                "--bind-to", "none", *passed, *agent]  # fmt: skip


ROOT = ("--allow-run-as-root",)
ALLOWED = "OMPI_ALLOW_RUN_AS_ROOT"
"""The variable by which a user has allowed it."""


def as_root() -> tuple[str, ...]:
    """The option without which mpirun refuses to run as root; empty where it is not needed."""
    if os.geteuid() != 0 or ALLOWED in os.environ:
        return ()
    say_root()
    return ROOT


@functools.cache
def say_root() -> None:
    tell(f"you are root, so mpirun is given {ROOT[0]}")


def detect() -> bool:
    """Whether a batch job without an engine of its own names its hosts."""
    return any(map(os.environ.get, JOB_FILES))


def open(*, nodes: int, hosts: str, accelerators: int) -> Cluster:  # noqa: A001
    """A launcher for `nodes` nodes; raises UsageError if there are fewer."""
    names = check(nodes=nodes, hosts=hosts)
    if wrong := not_ours(shutil.which("mpirun") or "mpirun"):
        raise UsageError(f"--launcher mpi needs Open MPI's mpirun, but {wrong}",
                         option="--launcher")  # fmt: skip
    return Cluster(Mpi(names), nodes)


def not_ours(path: str) -> str:
    """Why the mpirun at a path is not Open MPI's; empty if it is."""
    try:
        asked = ask([path, "--version"], seconds=ASK_SECONDS, variables={"LC_ALL": "C"})
    except NoAnswer as error:
        return str(error)
    if OURS in asked.output:
        return ""
    if asked.failure:
        return asked.failure
    first = next(iter(asked.output.splitlines()), "nothing")
    return f"this one reports {printable(first)!r:.60}"


def check(*, nodes: int, hosts: str) -> Sequence[str]:
    """The hosts; raises UsageError for what can be seen to be wrong without starting anything."""
    hosts = hosts or hosts_of_job()
    names = hosts_in(hosts) if hosts else ()
    if not names:
        raise UsageError(
            "--launcher mpi needs the hosts: --hosts a,b or --hosts @FILE, or a job of PBS, LSF or "
            "Grid Engine",
            option="--hosts",
        )
    if len(names) < nodes:
        raise UsageError(
            f"--hosts {hosts} names {counted(len(names), 'host')}, but {nodes} nodes are requested",
            option="--hosts",
        )
    if not shutil.which("mpirun"):
        raise UsageError(
            "--launcher mpi needs Open MPI's mpirun, which is not on the PATH: install Open MPI on "
            "all hosts",
            option="--launcher",
        )
    return names
