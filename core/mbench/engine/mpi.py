"""The launcher "mpi": agents on hosts that mpirun reaches, via ssh or as configured."""

from __future__ import annotations

import functools
import os
import re
import shutil
import socket
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from mbench.console import counted, printable, tell
from mbench.engine.cluster import Cluster
from mbench.errors import UsageError
from mbench.files import Unreadable, small_text
from mbench.machine.helper import NoAnswer, ask

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["JOB_FILES", "Mpi", "check", "detect", "hosts_in", "hosts_of_job", "open"]

OURS = "Open MPI"
ASK_SECONDS = 5.0


@dataclass(frozen=True)
class Mpi:
    """Open MPI's mpirun: one task per host, not bound to any core."""

    hosts: Sequence[str]
    name = "mpirun"

    def command(self, nodes: int, agent: Sequence[str], named: Sequence[str]) -> Sequence[str]:
        where = ",".join(f"{host}:1" for host in self.hosts[:nodes])
        passed = [word for name in named for word in ("-x", name)]
        return ["mpirun", *as_root(), "--host", where, "-n", str(nodes), "--map-by", "ppr:1:node",
                "--bind-to", "none", *passed, *agent]  # fmt: skip


ROOT = ("--allow-run-as-root",)
ALLOWED = "OMPI_ALLOW_RUN_AS_ROOT"
"""The variable with which a user allows running as root."""


def as_root() -> tuple[str, ...]:
    """The option without which mpirun refuses to run as root; empty where it is not needed."""
    if os.geteuid() != 0 or ALLOWED in os.environ:
        return ()
    say_root()
    return ROOT


@functools.cache
def say_root() -> None:
    tell(f"you are root, so mbench passes {ROOT[0]} to mpirun")


def detect() -> bool:
    """Whether there is a batch job that names its hosts but has no engine of its own."""
    return any(map(os.environ.get, JOB_FILES))


def open(*, nodes: int, hosts: str, accelerators: int) -> Cluster:  # noqa: A001
    """A launcher for `nodes` nodes; raises UsageError without enough hosts or Open MPI's mpirun."""
    names = check(nodes=nodes, hosts=hosts)
    if wrong := not_ours(shutil.which("mpirun") or "mpirun"):
        raise UsageError(f"--launcher mpi needs Open MPI's mpirun, but {wrong}",
                         option="--launcher")  # fmt: skip
    return Cluster(Mpi(names), nodes)


def not_ours(path: str) -> str:
    """Why the mpirun at this path is not Open MPI's; empty if it is."""
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
    """The hosts; raises UsageError for mistakes that show without starting anything."""
    hosts = hosts or hosts_of_job()
    names = hosts_in(hosts) if hosts else ()
    if not names:
        raise UsageError(
            "--launcher mpi needs hosts: give --hosts a,b or --hosts @FILE, or start mbench within "
            "a PBS, LSF or Grid Engine job",
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


JOB_FILES = ("PBS_NODEFILE", "LSB_DJOB_HOSTFILE", "PE_HOSTFILE")
"""Variables in which PBS, LSF and Grid Engine name a job's host file, some with a line per slot."""
SLURM_NODES = "SLURM_JOB_NODELIST"
FORMATS = "give names separated by commas, ranges like n[01-02], or a file with one host per line"
COMMA = re.compile(r",(?![^\[\]]*\])")
"""A comma that is not inside brackets."""
RANGE = re.compile(r"\[([\d,-]+)\]")
MOST = 100_000
"""The most hosts in one range: more would be a mistyped number."""
LOOPBACK = ("localhost", "127.0.0.1", "::1")


def hosts_of_job(environ: Mapping[str, str] = os.environ) -> str:
    """The hosts of the surrounding batch job, as for --hosts; empty if there is none."""
    for name in JOB_FILES:
        if path := environ.get(name):
            return f"@{path}"
    return environ.get(SLURM_NODES, "")


def hosts_in(text: str) -> tuple[str, ...]:
    """The hosts in "a,b", "n[01-02]" or "@FILE", each once. Raises UsageError.

    A file has a host per line, as for mpirun; what follows the name, such as slots, is ignored.
    """
    words = [part.strip() for part in COMMA.split(text)]
    if text.startswith("@"):
        lines = [line.partition("#")[0].split() for line in lines_of(text)]
        words = [part for first, *_ in filter(None, lines) for part in COMMA.split(first)]
    found = [host for word in words or [""] for host in expanded(word, text)]
    found = [LOOPBACK[0] if host.strip("[]") in LOOPBACK else host for host in found]
    # A name that begins with a sign would be an option of mpirun.
    for host in found:
        if host.count(":") > 1:
            raise UsageError(
                f"--hosts {text}: {host!r} is an IPv6 address, whose last part mpirun takes for "
                "a number of processes: give the host's name, as in /etc/hosts, or its IPv4 "
                "address",
                option="--hosts",
            )
        if not host or not host[0].isalnum() or not host.isprintable() or set(host) & set("[]=,"):
            raise UsageError(f"--hosts {text}: {host!r} is not a host; {FORMATS}", option="--hosts")
    names = (host.partition(":")[0] for host in found)
    return tuple({same(name): name for name in reversed([*names])}.values())[::-1]


def lines_of(text: str) -> list[str]:
    """The lines of the file that "@FILE" names; raises UsageError."""
    try:
        return small_text(Path(text[1:]).expanduser()).splitlines()
    except (Unreadable, RuntimeError) as error:  # RuntimeError: the user has no home folder
        raise UsageError(f"--hosts {text}: {error}", option="--hosts") from None


def expanded(word: str, text: str) -> Iterator[str]:
    """The names in "n[01-02,7]", keeping leading zeros; raises UsageError."""
    plain = RANGE.split(word)  # every second part is the inner part of brackets
    choices = [[part] for part in plain]
    for at in range(1, len(plain), 2):
        choices[at] = []
        for part in plain[at].split(","):
            first, _, last = part.partition("-")
            last = last or first
            if not first.isdecimal() or not last.isdecimal() or int(last) - int(first) >= MOST:
                raise UsageError(f"--hosts {text}: {word!r} is not a range of hosts; {FORMATS}",
                                 option="--hosts")  # fmt: skip
            width = len(first) if first.startswith("0") or len(first) == len(last) else 0
            choices[at] += [f"{n:0{width}}" for n in range(int(first), int(last) + 1)]
    yield from map("".join, product(*choices))


def same(host: str) -> str:
    """A key that is equal for names of one host, as far as is known without the network."""
    host = host.lower()
    here = socket.gethostname().lower()
    return "localhost" if host in (*LOOPBACK, here, here.partition(".")[0]) else host
