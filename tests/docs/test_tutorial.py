"""The tutorial's adapter: the files of each stage are written, and its commands run."""

from __future__ import annotations

import configparser
import os
import re
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tutorial import STAGES, TEMPLATE, files, write

if TYPE_CHECKING:
    from pathlib import Path

CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)


def register(folder: Path) -> None:
    """Write what `pip install -e .` leaves behind for a folder that is on the path."""
    project = configparser.ConfigParser()
    project.read_string((folder / "pyproject.toml").read_text(encoding="utf-8"))
    info = folder / "mbench_mine-0.1.dist-info"
    info.mkdir()
    entry = project["project.entry-points.mbench"]["mine"].strip('"')
    (info / "entry_points.txt").write_text(f"[mbench]\nmine = {entry}\n", encoding="utf-8")
    metadata = "Metadata-Version: 2.1\nName: mbench-mine\nVersion: 0.1\n"
    (info / "METADATA").write_text(metadata, encoding="utf-8")


@pytest.mark.parametrize("stage", [1, 2, 3])  # 4 is the kit: see tests/test_third_party.py
def test_a_stage_does_what_the_page_says(stage, tmp_path):
    write(tmp_path, until=stage)
    register(tmp_path)
    variables = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]),
        "MBENCH_PROOFS": str(tmp_path / "proofs"),
        "MBENCH_RESULTS": str(tmp_path / "results"),
    }
    commands = [
        shlex.split(line.removeprefix("$ "))
        for block in CONSOLE.findall(STAGES[stage])
        for line in block.splitlines()
    ]
    assert commands
    for program, *arguments in commands:
        if program == "pip":
            continue
        command = [sys.executable, *(["-m", "mbench"] if program == "mbench" else []), *arguments]
        done = subprocess.run(
            command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False
        )
        said = done.stdout + done.stderr
        assert done.returncode == 0, said
        assert "problem" not in said
        assert "NOT PROVEN" not in said
        if arguments[0] in ("run", "verify"):
            assert "proving outputs in float64" in said


def test_the_page_opens_with_an_adapter_of_about_thirty_lines():
    assert list(STAGES) == [1, 2, 3, 4, 5]
    adapter = files(1)["mbench_mine/plugin.py"] + files(1)["mbench_mine/runtime.py"]
    assert len([line for line in adapter.splitlines() if line.strip()]) < 40


def test_the_template_takes_a_hundred_lines_without_models():
    parts = ("__init__", "plugin", "runtime", "compiler", "optimizer")
    texts = [(TEMPLATE / "mbench_mine" / f"{part}.py").read_text() for part in parts]
    lines = [line for text in texts for line in text.splitlines() if line.strip()]
    assert len(lines) <= 100


def test_the_template_is_what_the_page_ends_with(tmp_path):
    write(tmp_path, until=5)
    for stage in STAGES:
        for name in files(stage):
            assert (tmp_path / name).read_text() == (TEMPLATE / name).read_text(), name
