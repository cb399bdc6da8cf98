"""An adapter outside this repository: installed by pip beside mbench, tested and measured there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import TYPE_CHECKING

import tutorial

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parent.parent


def test_a_strangers_adapter_is_installed_and_passes_the_kit_and_is_measured(tmp_path):
    home = tmp_path / "venv"
    venv.create(home, with_pip=True)
    python, mbench = home / "bin" / "python", home / "bin" / "mbench"
    mine = tmp_path / "mine"
    tutorial.write(mine, until=5)
    packages = [f"{ROOT}[testing]", ROOT / "tests" / "tiny", mine]
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", *packages], check=True, stdout=sys.stderr
    )
    shutil.rmtree(mine)
    variables = {
        **os.environ,
        "MBENCH_PROOFS": str(tmp_path / "proofs"),
        "MBENCH_ENVIRONMENTS": str(tmp_path / "environments"),
    }
    variables.pop("PYTHONPATH", None)

    def run(*arguments: str, command: Sequence[Path | str] = (mbench,), folder: Path = tmp_path):
        return subprocess.run(
            [*command, *arguments], cwd=folder, env=variables, capture_output=True, text=True,
            check=False,
        )  # fmt: skip

    listed = run("list")
    assert listed.returncode == 0
    assert "Tiny" in listed.stdout
    assert "tiny-model" in listed.stdout
    assert "Mine" in listed.stdout, "the adapter that docs/writing-an-adapter.md grows"
    assert list(home.glob("lib/*/site-packages/mbench_mine/references/lstm-small.npz"))
    assert "problem" not in listed.stderr, listed.stderr

    made = run("new", "adapter", "strange")
    assert made.returncode == 0, made.stderr
    strange = tmp_path / "mbench-strange"
    subprocess.run([python, "-m", "pip", "install", "--quiet", strange], check=True)
    tested = run(command=(python, "-m", "pytest"), folder=strange)
    assert tested.returncode == 0, tested.stdout
    assert "failed" not in tested.stdout

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
