"""Two processes that train one model together, by MXNet's distributed KVStore."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

pytest.importorskip("mxnet", reason="MXNet is not installed here")

from ranks import RanksAlike, free_peers

pytestmark = pytest.mark.filterwarnings("ignore:Please import .csr_matrix.:DeprecationWarning")


class TestRanks(RanksAlike):
    runtime_name = "mbench_mxnet.runtime:Runtime"
    compilers = ("hybrid", "eager")


LEAVES = """
import os, sys
from mbench_mxnet import parallel
started = []
popen = parallel.subprocess.Popen
parallel.subprocess.Popen = lambda *a, **k: started.append(popen(*a, **k)) or started[-1]
parallel.start("scheduler", {"DMLC_PS_ROOT_URI": "127.0.0.1", "DMLC_PS_ROOT_PORT": sys.argv[1],
                             "DMLC_NUM_WORKER": "1", "DMLC_NUM_SERVER": "1"})
print(started[0].pid, os.getpgid(started[0].pid) == os.getpgrp(), flush=True)
input()
if sys.argv[2] == "leave":
    os._exit(0)
started[0].kill()
started[0].wait()
input()
"""


@pytest.mark.parametrize("how", ["leave", "kill"])
def test_a_rank_and_its_scheduler_end_together(how):
    """They end together whichever ends first. They share a process group, so that they are stopped
    and woken together, too.
    """
    _, _, port = free_peers(1)[0].partition(":")
    rank = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", LEAVES, port, how],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )  # fmt: skip
    try:
        child, together = rank.stdout.readline().split()
        assert together == "True"
        _, said = rank.communicate("\n", timeout=60)
    finally:
        rank.kill()
        rank.communicate()
    assert rank.returncode == (1 if how == "kill" else 0)
    assert ("MXNet's scheduler ended with -9" in said) == (how == "kill")
    deadline = time.monotonic() + 10
    while is_running(int(child)):
        assert time.monotonic() < deadline, "the scheduler outlives its rank"
        time.sleep(0.02)


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
