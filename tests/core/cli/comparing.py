"""`mbench compare` and `verify` in a process of its own, with frameworks that are quick."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import psutil
from support import commands

if TYPE_CHECKING:
    from pathlib import Path

MBENCH = [sys.executable, "-m", "mbench"]
QUICK = ["--models", "tiny-model", "--processes", "2", "--rounds", "2", "--threads", "1"]
QUICK += ["--block", "0.05", "--no-mfu"]
ONCE = [*QUICK, "--processes", "1", "--rounds", "1", "--no-verify"]
"""Options for tests that need neither an interval nor a proof."""


def workers_of(folder: Path) -> list[psutil.Process]:
    """Live processes of workers that were started in `folder`; zombies do not count."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        line = " ".join(process.info["cmdline"] or [])
        if "bootstrap.py" in line and process.info["status"] != psutil.STATUS_ZOMBIE:
            try:
                if process.cwd().startswith(str(folder)):
                    found.append(process)
            except psutil.Error:
                continue
    return found


def assert_no_workers(folder: Path) -> None:
    deadline = time.monotonic() + 10
    while workers_of(folder):
        assert time.monotonic() < deadline, f"left behind: {workers_of(folder)}"
        time.sleep(0.1)


def compare(*arguments: str, fault: str = "") -> subprocess.CompletedProcess[str]:
    return commands.mbench("compare", *arguments, env={**os.environ, "FLAKY": fault}, timeout=120)


def documents(result: subprocess.CompletedProcess[str]) -> tuple[dict, dict[str, dict]]:
    """The JSON document printed, in which NaN and Infinity are refused, and its cases by label."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    document = json.loads(result.stdout, parse_constant=refuse)
    return document, {case["label"]: case for case in document["cases"]}


def one_line(result: subprocess.CompletedProcess[str]) -> str:
    """The error message, which is the last line of stderr; a traceback is refused."""
    assert "Traceback" not in result.stderr
    return result.stderr.strip().splitlines()[-1]


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*MBENCH, "compare", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # as from a terminal of its own
    )


def wait_for(run: subprocess.Popen[str], text: str) -> None:
    """Read stderr until a line holds `text`."""
    assert run.stderr is not None
    for line in run.stderr:
        if text in line:
            return
    raise AssertionError(f"{text!r} never came")


def verify(*arguments, fault=""):
    """The exit code of `mbench verify`, and its proofs."""
    words = ["verify", *arguments, "--threads=1", "--format=json"]
    result = commands.mbench(*words, env={**os.environ, "FLAKY": fault})
    return result.returncode, json.loads(result.stdout)["proofs"]
