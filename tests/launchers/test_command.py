"""The command itself on two hosts: work is proven, measured and recorded, and nothing is left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import clusters
import proven
import pytest

ONCE = ("--models", "tiny-model", "--processes", "1", "--rounds", "1", "--block", "0.05",
        "--no-mfu")  # fmt: skip


HOMES = "MBENCH_HOMES"
"""The variable that names the folder of environments of real frameworks; tox sets it."""
SAYS = {
    "torch": "DistributedDataParallel", "tf": "MultiWorkerMirroredStrategy", "mxnet": "KVStore",
    "paddle": "DataParallel", "jax": "pmean",
}  # fmt: skip
"""What the differences of each real framework say of its exchange."""
REAL = {"mpi": ("torch", "tf"), "slurm": ("mxnet", "paddle"), "ray": ("jax",)}
"""Engines start all frameworks alike, so each framework is tried with one of them. With
MBENCH_ALL=1 every framework is tried with every engine.
"""
SET = {"jax": ":JAX_DISABLE_MOST_OPTIMIZATIONS=1"}
"""Settings of arms: with this one, XLA compiles in half of the time."""


@pytest.fixture(scope="session")
def kept(tmp_path_factory):
    """A folder for all engines: environments, and proofs except those of an exchange."""
    return tmp_path_factory.mktemp("kept")


@pytest.fixture
def command(around, tmp_path, kept):
    """A function that runs mbench where the engine is found; returns its exit code and output."""
    if "mbench_tiny" not in entry_points(group="mbench").names:
        pytest.skip("the tiny framework is not installed in this Python")
    folders = {"CALIBRATIONS": kept, "ENVIRONMENTS": kept, "PROOFS": kept, "RESULTS": tmp_path}
    own = {f"MBENCH_{name}": str(folder / name.lower()) for name, folder in folders.items()}
    models = Path(proven.__file__).parent
    found = (os.environ["PYTHONPATH"], str(models), str(models / "installed"))
    own["PYTHONPATH"] = os.pathsep.join(found)

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
    assert "ok equal work proven" in " ".join(said.split())
    (file,) = (tmp_path / "results").glob("*/run.jsonl")
    events = [json.loads(line) for line in file.read_text().splitlines()]
    blocks = [event for event in events if event["event"] == "block"]
    assert blocks
    assert all(len(block["ranks"]) == 2 for block in blocks)


def test_more_nodes_than_there_are(command):
    code, said = command("run", "tiny", *ONCE, "--scale", "3x1")
    assert code == 2
    assert said.count("\n") == 1
    assert "3 are requested" in said or "3 nodes are requested" in said


def test_environments_are_built_on_each_node(command, kept):
    code, said = command("env", "create", "tiny", "--nodes", "2")
    assert code == 0, said
    assert said.count(f"tiny: {kept / 'environments'}") == 2


def test_real_frameworks_train_over_two_hosts_in_turn(command, around, tmp_path):
    """Each has an exchange of its own, which is proven; all of an engine's are warm at once."""
    chosen = SAYS if os.environ.get("MBENCH_ALL") else REAL[around]
    pythons = {name: Path(os.environ.get(HOMES, "")) / name / "bin/python" for name in chosen}
    if missing := [str(python) for python in pythons.values() if not os.access(python, os.X_OK)]:
        pytest.skip(f"{HOMES} names a folder without {missing[0]}")
    arms = [f"{name}@{python}{SET.get(name, '')}" for name, python in pythons.items()]
    code, said = command(
        "compare" if len(arms) > 1 else "run", *arms, "--models", "small-lstm", "--batch-size",
        "2", "--threads", "1", *ONCE[2:], "--scale", "2x1",
    )  # fmt: skip
    assert code == 0, said
    (file,) = (tmp_path / "results").glob("*/run.jsonl")
    events = [json.loads(line) for line in file.read_text().splitlines()]
    proofs = [event for event in events if event["event"] == "equal_work"]
    assert len(proofs) == len(pythons)
    for proof in proofs:
        assert proof["proven"]
        assert {"exchange", "updates"} <= {finding["check"] for finding in proof["findings"]}
    processes = [event for event in events if event["event"] == "process"]
    means = " ".join(line for process in processes for line in process["differences"])
    assert all(SAYS[name] in means for name in pythons)
    blocks = [event for event in events if event["event"] == "block"]
    assert {event["case"] for event in blocks} == set(range(len(pythons)))
    assert [len(block["ranks"]) for block in blocks] == [2] * len(blocks)
