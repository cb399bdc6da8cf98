"""An adapter outside this repository can be installed beside mbench by pip, tested and measured."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parent.parent


def test_a_strangers_adapter_is_installed_and_passes_the_kit_and_is_measured(tmp_path):
    home = tmp_path / "venv"
    venv.create(home, with_pip=True)
    python, mbench = home / "bin" / "python", home / "bin" / "mbench"

    def install(*packages: Path | str):
        command = [python, "-m", "pip", "install", "--quiet", *packages]
        subprocess.run(command, check=True, stdout=sys.stderr)

    install(f"{ROOT}[testing]", ROOT / "tests" / "tiny")
    variables = {
        **os.environ,
        "MBENCH_PROOFS": str(tmp_path / "proofs"),
        "MBENCH_ENVIRONMENTS": str(tmp_path / "environments"),
    }
    variables.pop("PYTHONPATH", None)
    variables["OPENBLAS_NUM_THREADS"] = "1"  # two threads that share a core wait for each other

    def run(*arguments: str, command: Sequence[Path | str] = (mbench,), folder: Path = tmp_path):
        return subprocess.run(
            [*command, *arguments], cwd=folder, env=variables, capture_output=True, text=True,
            check=False,
        )  # fmt: skip

    made = run("new", "adapter", "strange")
    assert made.returncode == 0, made.stderr
    strange = tmp_path / "mbench-strange"
    assert run("new", "adapter", "another").returncode == 0
    assert run("new", "adapter", "inferring", "--no-autograd").returncode == 0
    inferring = tmp_path / "mbench-inferring"
    install(strange, tmp_path / "mbench-another", inferring)
    shutil.rmtree(strange / "mbench_strange")

    listed = run("list")
    assert listed.returncode == 0
    assert "Tiny" in listed.stdout
    assert "tiny-model" in listed.stdout
    assert "Strange" in listed.stdout
    assert "Another" in listed.stdout, "two packages of the template stand side by side"
    assert "problem" not in listed.stderr, listed.stderr

    tested = run(command=(python, "-m", "pytest"), folder=strange)
    assert tested.returncode == 0, tested.stdout
    assert "failed" not in tested.stdout

    tested = run(command=(python, "-m", "pytest"), folder=inferring)
    assert tested.returncode == 0, tested.stdout
    trained = run("verify", "inferring", "--models", "lstm-tiny")
    said = " ".join(trained.stdout.split())
    assert "Inferring infers only: train in another framework" in said

    result = run(
        "compare", "--frameworks", "tiny,tiny", "--models", "tiny-model", "--processes", "2",
        "--rounds", "2", "--block", "0.05", "--threads", "1", "--no-mfu", "--format", "json",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    assert [case["outcome"] for case in document["cases"]] == ["ok", "ok"]
    assert all(case["equal_work"]["proven"] for case in document["cases"])
    assert document["comparisons"][0]["ratio"] > 0

    without = run("--no-external-plugins", "compare", "--frameworks", "tiny,tiny")
    assert without.returncode == 2
    assert "unknown framework 'tiny'" in without.stderr
