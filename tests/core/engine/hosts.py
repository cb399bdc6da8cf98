"""An "engine" that starts keepers as plain children of this machine, which dial in by loopback."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from mbench.contract.place import Place
from mbench.engine.program import Program

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
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

    def command(self, nodes, keeper, named):
        self.named = named
        return [sys.executable, "-c", self.script, str(nodes), *keeper]


def importable():
    """PYTHONPATH as keepers need it, to find what these tests find."""
    folders = (ROOT / "core", ROOT / "tests" / "tiny", ROOT / "tests", HERE)
    return os.pathsep.join(map(str, folders))


def places(nodes, each):
    ranks = nodes * each
    return [
        Place(rank=rank, ranks=ranks, local_rank=rank % each, local_ranks=each)
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
