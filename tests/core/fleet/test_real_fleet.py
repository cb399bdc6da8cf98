"""A real fleet of six nodes: runs of this machine in turn, those of one node under a CPU quota."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

import mbench

NODES, SLOW = 6, "n3"
QUOTA = 0.2
"""Cores that the slow node may use."""
RUN = ("run", "tiny", "--models", "tiny-model", "--batch-size", "8", "--processes", "3", "--rounds",
       "4", "--block", "0.1", "--no-mfu", "--no-verify", "--threads", "1", "--quiet")  # fmt: skip
CONTROLLER = Path("/sys/fs/cgroup/cpu")


@contextmanager
def quota(cores):
    """A control group whose processes get `cores` cores; gives the file that takes processes in."""
    second = not CONTROLLER.is_dir()
    root = Path("/sys/fs/cgroup") if second else CONTROLLER
    group = root / f"mbench-fleet-{os.getpid()}"
    try:
        group.mkdir()
        if second:
            (group / "cpu.max").write_text(f"{int(100_000 * cores)} 100000")
        else:
            (group / "cpu.cfs_quota_us").write_text(str(int(100_000 * cores)))
    except OSError as error:
        if group.exists():
            group.rmdir()
        pytest.skip(f"no control group with a CPU quota can be made in {root}: {error}")
    try:
        yield group / "cgroup.procs"
    finally:
        group.rmdir()


def measure(folder, name, procs):
    """Measure a run of one node, in the control group whose file is `procs`, if any."""
    enter = f"echo $$ > {procs}; " if procs else ""
    words = [sys.executable, "-m", "mbench", *RUN, "--results", str(folder / name)]
    code = f"import socket; socket.gethostname = lambda: {name!r}\n"
    (folder / "sitecustomize.py").write_text(code)
    done = subprocess.run(
        ["bash", "-c", f'{enter}exec "$@"', "-", *words], capture_output=True, text=True,
        check=False, cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "MBENCH_PROOFS": str(folder / "proofs"),
             "MBENCH_CALIBRATIONS": str(folder / "calibrations")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_the_node_under_a_quota_is_found_and_no_other(tmp_path):
    """Each node has one run, and the suspect then a second one; no other node is ever accused. If
    other programs make the nodes differ too much for a verdict, the diagnosis says so.
    """
    names = [f"n{at}" for at in range(NODES)]
    folders = [tmp_path / name for name in names]
    with quota(QUOTA) as procs:
        for name in names:
            measure(tmp_path, name, procs if name == SLOW else None)
        first = mbench.diagnose(*folders)
        assert accused(first) <= {SLOW}, json.dumps(first.to_json(), indent=1)
        if SLOW not in accused(first):
            assert "F502" in {one.code for one in first.findings}
            pytest.skip(f"this machine is too busy now: {first.metrics[0].reason}")
        assert first.named("suspect") == [SLOW]
        measure(tmp_path, SLOW, procs)
    found = mbench.diagnose(*folders)
    assert found.named("slow") == [SLOW], json.dumps(found.to_json(), indent=1)
    assert accused(found) == {SLOW}


def accused(found):
    """The nodes that are accused of being slow."""
    return {node for one in found.findings if one.code in ("F301", "F302", "F303")
            for node in one.nodes}  # fmt: skip
