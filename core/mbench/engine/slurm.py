"""The launcher "slurm": agents on the nodes of the surrounding job, started by srun."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mbench.engine.cluster import Cluster
from mbench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Slurm", "check", "detect", "open"]


@dataclass(frozen=True)
class Slurm:
    """A job step of one task per node, which may use all that the job has of the node."""

    name = "srun"

    def command(self, nodes: int, agent: Sequence[str], named: Sequence[str]) -> Sequence[str]:
        # srun passes on its environment. Options that a job step inherits from it, such as a limit
        # on memory or cores per task, are the user's choice.
        return ["srun", f"--nodes={nodes}", f"--ntasks={nodes}", "--ntasks-per-node=1", "--overlap",
                "--cpu-bind=none", "--kill-on-bad-exit=1", "--input=none", "--export=ALL",
                *agent]  # fmt: skip


def detect() -> bool:
    return bool(os.environ.get("SLURM_JOB_ID"))


def open(*, nodes: int, hosts: str, accelerators: int) -> Cluster:  # noqa: A001
    """A launcher for `nodes` nodes; raises UsageError if the job has fewer or there is no job."""
    check(nodes=nodes, hosts=hosts)
    return Cluster(Slurm(), nodes)


def check(*, nodes: int, hosts: str) -> None:
    """Raises UsageError for mistakes that show without starting anything."""
    if not shutil.which("srun"):
        raise UsageError(
            "--launcher slurm needs Slurm's srun, which is not on the PATH", option="--launcher"
        )
    if not os.environ.get("SLURM_JOB_ID"):
        raise UsageError(
            "--launcher slurm works only within a job: start mbench with sbatch, or after salloc "
            f"--nodes={nodes}",
            option="--launcher",
        )
    there = os.environ.get("SLURM_JOB_NUM_NODES", os.environ.get("SLURM_NNODES", ""))
    if there.isdecimal() and int(there) < nodes:
        raise UsageError(
            f"this Slurm job has {there} nodes, but {nodes} are requested: salloc --nodes={nodes}",
            option="--scale",
        )
