"""A model that a stranger's package adds for PyTorch alone, as its users see it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed here")
pytestmark = pytest.mark.skipif(
    not any(entry.name == "mbench_pytorch" for entry in entry_points(group="mbench")),
    reason="mbench itself is not installed here, so that no plugin is found",
)
PLUGIN = Path(__file__).parents[3] / "templates" / "mbench_templates" / "model"


@pytest.fixture
def run(tmp_path):
    """A function that runs a module of mbench in a temporary folder, with the plugin installed."""
    site = tmp_path / "site"
    shutil.copytree(PLUGIN / "mbench_perceptron", site / "mbench_perceptron")
    information = site / "mbench_perceptron-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: mbench-perceptron\nVersion: 1.0\n"
    )
    (information / "entry_points.txt").write_text(
        "[mbench]\nmbench_perceptron = mbench_perceptron.plugin\n"
    )
    variables = {
        **os.environ,
        "MBENCH_PROOFS": str(tmp_path / "proofs"),
        "PYTHONPATH": os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]),
        "COLUMNS": "200",  # each row of a table in one line
    }

    def run(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", module, *arguments], cwd=tmp_path, env=variables,
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    return run


def test_a_strangers_model_is_listed_gets_a_reference_file_and_is_proven(run):
    listed = run("mbench", "list", "models")
    assert listed.returncode == 0, listed.stderr
    (row,) = [line for line in listed.stdout.splitlines() if line.startswith("perceptron")]
    header = listed.stdout.splitlines()[0].split()
    said = dict(zip(header, re.split(r"\s{2,}", row), strict=True))
    assert said["parameters"] == "789,258"
    assert said["torch"] == "-"
    assert said["tf"] == "no"
    assert "not provided: TensorFlow's adapter has no perceptron model" in listed.stdout

    proof = ("mbench", "verify", "--models", "perceptron", "--threads", "1")
    missing = run(*proof, "--frameworks", "torch")
    assert missing.returncode == 1
    assert "perceptron has no reference file" in missing.stdout
    command = "mbench new reference perceptron"
    assert f"write it with: {command}" in " ".join(missing.stdout.split())
    written = run(*command.split())
    assert written.returncode == 0, written.stderr
    assert "references/perceptron.npz" in written.stdout
    result = run(*proof, "--frameworks", "torch,tf", "--format", "json")
    assert result.returncode == 1
    ours, others = json.loads(result.stdout)["proofs"]
    assert ours["outcome"] == "ok", ours
    assert others["outcome"] == "unsupported"
    assert others["reason"].startswith("not provided")
