"""The command itself over two hosts: proven, measured, written down, and nothing left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import entry_points

import clusters
import pytest

ONCE = ("--models", "tiny-model", "--processes", "1", "--rounds", "1", "--block", "0.05",
        "--no-mfu")  # fmt: skip


@pytest.fixture
def command(around, tmp_path):
    """Runs mbench where the engine is found; gives its exit code, and what it said."""
    if "mbench_tiny" not in entry_points(group="mbench").names:
        pytest.skip("the tiny framework is not installed in this Python")
    folders = ("CALIBRATIONS", "ENVIRONMENTS", "PROOFS", "RESULTS")
    own = {f"MBENCH_{name}": str(tmp_path / name.lower()) for name in folders}

    def command(*words):
        named = ("--hosts", "mbh1,mbh2") if around == "mpi" else ()
        done = subprocess.run(
            [sys.executable, "-m", "mbench", *words, *named], cwd=tmp_path, text=True,
            env={**os.environ, **own, "COLUMNS": "200"}, capture_output=True, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr

    yield command
    clusters.until(lambda: clusters.keeping() == [], "gone", 10)


def test_two_hosts_train_one_model_proven_equal(command, tmp_path):
    code, said = command("compare", "tiny", "tiny", *ONCE, "--scale", "2x1")
    assert code == 0, said
    assert "proving the exchange of 2 processes" in said
    assert "equal work: proven" in said
    (file,) = (tmp_path / "results").glob("*/run.jsonl")
    events = [json.loads(line) for line in file.read_text().splitlines()]
    blocks = [event for event in events if event["event"] == "block"]
    assert blocks
    assert all(len(block["ranks"]) == 2 for block in blocks)


def test_more_nodes_than_there_are(command):
    code, said = command("run", "tiny", *ONCE, "--scale", "3x1")
    assert code == 2
    assert said.count("\n") == 1
    assert "3 are asked for" in said or "3 nodes are asked for" in said


def test_environments_are_built_on_each_node(command, tmp_path):
    code, said = command("env", "create", "tiny", "--nodes", "2")
    assert code == 0, said
    assert said.count(f"tiny: {tmp_path / 'environments'}") == 2
    code, said = command("env", "create", "tiny==0.0.0", "--nodes", "2")
    assert code == 1
    assert "Traceback" not in said
