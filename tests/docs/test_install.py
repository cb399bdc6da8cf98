"""The project can be locked by tools that resolve for all Pythons and all extras at once."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys

import pytest


@pytest.mark.skipif(importlib.util.find_spec("uv") is None, reason="uv is not installed")
def test_uv_locks_the_project_and_runs_what_it_installs(root, tmp_path):
    ours = shutil.ignore_patterns(".*", "docs", "benchmarks", "tests", "__pycache__")
    shutil.copytree(root, tmp_path / "checkout", ignore=ours)

    def uv(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "uv", *arguments],
            cwd=tmp_path / "checkout", capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    uv("lock")
    assert uv("run", "--python", sys.executable, "mbench", "--version").startswith("mbench, ")
