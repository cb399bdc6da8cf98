"""An "engine" that starts agents as plain child processes on this machine."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

import mbench_tiny

import mbench
from mbench.contract.rank import RankInfo
from mbench.plugins.launcher import Program

HERE = Path(__file__).parent
TESTS = HERE.parents[1]
SPREAD = """
import os, subprocess, sys
nodes = [subprocess.Popen(sys.argv[2:], env={**os.environ, "MBENCH_NODE": str(at)})
         for at in range(int(sys.argv[1]))]
codes = [node.wait() for node in nodes]
sys.exit(max(map(abs, codes)))
"""


class Here:
    """Each "node" is a process of this machine."""

    name = "spread"

    def __init__(self, script=SPREAD):
        self.script = script

    def command(self, nodes, agent, named):
        self.named = named
        return [sys.executable, "-c", self.script, str(nodes), *agent]


def importable():
    """The PYTHONPATH by which agents find the modules that these tests find, and no other copies.

    It leaves out the folder of installed packages, which agents find anyway: workers inherit the
    variable, but may have other packages.
    """
    installed = Path(sysconfig.get_path("purelib"))
    folders = (Path(mbench.__file__).parents[1], Path(mbench_tiny.__file__).parent, TESTS, HERE)
    return os.pathsep.join(str(folder) for folder in folders if folder != installed)


def places(nodes, each):
    ranks = nodes * each
    return [
        RankInfo(rank=rank, ranks=ranks, local_rank=rank % each, local_ranks=each)
        for rank in range(ranks)
    ]


def program(log, *, timeout=20.0, **variables):
    return Program(
        python=Path(sys.executable),
        modules=["mbench_tiny", "rogues"],
        variables=variables,
        log=log,
        timeout_seconds=timeout,
    )
