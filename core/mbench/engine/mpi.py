"""The launcher "mpi": agents on hosts that mpirun reaches, by ssh or as it is configured."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mbench.engine.cluster import Cluster
from mbench.errors import UsageError, reason_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Mpi", "hosts_in", "open"]

OURS = "Open MPI"
ASK_SECONDS = 20.0


@dataclass(frozen=True)
class Mpi:
    """Open MPI's mpirun: one task on each host, bound to no core."""

    hosts: Sequence[str]
    name = "mpirun"

    def command(self, nodes: int, agent: Sequence[str], named: Sequence[str]) -> Sequence[str]:
        where = ",".join(f"{host}:1" for host in self.hosts[:nodes])
        passed = [word for name in named for word in ("-x", name)]
        return ["mpirun", "--host", where, "-n", str(nodes), "--map-by", "ppr:1:node",
                "--bind-to", "none", *passed, *agent]  # fmt: skip


def open(*, nodes: int, hosts: str, accelerators: int) -> Cluster:  # noqa: A001
    """A launcher for `nodes` nodes; raises UsageError if there are fewer."""
    names = hosts_in(hosts) if hosts else ()
    if not names:
        raise UsageError(
            "--launcher mpi needs the hosts: --hosts a,b or --hosts @FILE", option="--hosts"
        )
    if len(names) < nodes:
        raise UsageError(
            f"--hosts names {len(names)}, but {nodes} nodes are requested", option="--hosts"
        )
    if not shutil.which("mpirun"):
        raise UsageError(
            "--launcher mpi needs Open MPI's mpirun, which is not on the PATH: install Open MPI on "
            "all hosts",
            option="--launcher",
        )
    try:
        asked = subprocess.run(
            ["mpirun", "--version"], capture_output=True, text=True, timeout=ASK_SECONDS,
            check=False, env={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"mpirun --version does not answer: {error}") from None
    first = next(iter(asked.stdout.splitlines()), "nothing")
    if OURS not in asked.stdout:
        raise UsageError(
            f"--launcher mpi needs Open MPI's mpirun, but this one reports {first!r:.60}",
            option="--launcher",
        )
    return Cluster(Mpi(names), nodes)


def hosts_in(text: str) -> tuple[str, ...]:
    """Of "a,b,c", or of "@FILE" with a host per line as for mpirun; raises UsageError."""
    if not text.startswith("@"):
        found = [part.strip() for part in text.split(",")]
    else:
        try:
            lines = Path(text[1:]).read_text().splitlines()
        except (OSError, UnicodeDecodeError) as error:
            told = reason_of(error) if isinstance(error, OSError) else str(error)
            raise UsageError(f"--hosts {text}: {told}", option="--hosts") from None
        words = [line.partition("#")[0].split() for line in lines]
        found = [first for first, *_ in filter(None, words)]
    # A name that begins with a sign would be an option of mpirun; slots do not matter here.
    wrong = [host for host in found if not host or not host[0].isalnum() or not host.isprintable()]
    if wrong or not found:
        raise UsageError(f"--hosts {text}: {(wrong or [''])[0]!r} is not a host", option="--hosts")
    names = tuple(host.partition(":")[0] if host.count(":") == 1 else host for host in found)
    if len(set(names)) < len(names):
        raise UsageError(f"--hosts {text} names a host twice", option="--hosts")
    return names
