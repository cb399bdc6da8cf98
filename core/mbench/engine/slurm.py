"""The launcher "slurm": keepers on the nodes of the job that mbench runs in, started by srun."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mbench.engine.cluster import Cluster
from mbench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Slurm", "open"]


@dataclass(frozen=True)
class Slurm:
    """A step of one task on each node, which may use all of the node that the job has."""

    name = "srun"

    def command(self, nodes: int, keeper: Sequence[str], named: Sequence[str]) -> Sequence[str]:
        # srun passes its own environment on; what a job step would inherit of srun's options from
        # there, such as a limit of memory or of cores for a task, is the user's.
        return ["srun", f"--nodes={nodes}", f"--ntasks={nodes}", "--ntasks-per-node=1", "--overlap",
                "--cpu-bind=none", "--kill-on-bad-exit=1", "--input=none", "--export=ALL",
                *keeper]  # fmt: skip


def open(*, nodes: int, hosts: str, accelerators: int) -> Cluster:  # noqa: A001
    """A launcher for so many nodes; raises UsageError where the job has fewer, or there is none."""
    if not shutil.which("srun"):
        raise UsageError(
            "--launcher slurm runs Slurm's srun, which is not on the PATH", option="--launcher"
        )
    if not os.environ.get("SLURM_JOB_ID"):
        raise UsageError(
            "--launcher slurm works within a job: start mbench by sbatch, or after salloc "
            f"--nodes={nodes}",
            option="--launcher",
        )
    there = os.environ.get("SLURM_JOB_NUM_NODES", os.environ.get("SLURM_NNODES", ""))
    if there.isdecimal() and int(there) < nodes:
        raise UsageError(
            f"this job of Slurm has {there} nodes, and {nodes} are asked for: salloc "
            f"--nodes={nodes}",
            option="--scale",
        )
    return Cluster(Slurm(), nodes)
