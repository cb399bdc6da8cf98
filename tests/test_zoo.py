"""The zoo's script, `.ci/zoo.py`, with frameworks that are quick."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / ".ci" / "zoo.py"


def zoo(folder, *frameworks, fault=""):
    return subprocess.run(
        [sys.executable, SCRIPT, *frameworks, "--models", "tiny-model", "--output", "zoo.json"],
        env={**os.environ, "FLAKY": fault, "MBENCH_PROOFS": str(folder / "proofs")}, cwd=folder,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_cell_that_is_not_proven_fails_and_the_others_are_remembered(tmp_path):
    result = zoo(tmp_path, f"tiny@{sys.executable}", "flaky", fault="frozen")
    assert result.returncode == 1, result.stderr
    assert "tiny: 1 of 1 models proven" in result.stdout
    assert "flaky: 0 of 1 models proven" in result.stdout
    assert "tiny-model: not-equal: updates: " in result.stdout
    proofs = json.loads((tmp_path / "zoo.json").read_text())["proofs"]
    assert [proof["framework"] for proof in proofs] == ["tiny", "flaky"]
    again = zoo(tmp_path, f"tiny@{sys.executable}", "flaky")
    assert again.returncode == 0, again.stderr
    assert "tiny tiny-model: proven before" in again.stdout
    assert "flaky tiny-model: proven in" in again.stdout


def test_what_memory_did_not_suffice_for_is_proven_again_alone(tmp_path):
    result = zoo(tmp_path, "flaky", fault="oom@1")
    assert result.returncode == 1, result.stderr
    assert result.stdout.count("[1 of 1] flaky tiny-model: oom: ") == 2


def test_a_framework_that_is_not_there_is_said(tmp_path):
    result = zoo(tmp_path, "tiny@nowhere/python")
    assert result.returncode == 1
    assert "nowhere/python" in result.stderr
    assert "Traceback" not in result.stderr
