"""Runs real commands in surroundings of their own, and looks for the processes they leave."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from support import commands

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE = 300.0
ROGUE = Path(__file__).parent / "mbench_rogue.py"
QUICK = ("--models", "tiny-model", "--batch-size", "8", "--processes", "1", "--rounds", "1",
         "--block", "0.005", "--no-mfu", "--no-verify", "--budget", "9999")  # fmt: skip


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    code: int
    out: str
    err: str
    results: Path

    @property
    def run(self) -> Path:
        return run_in(self.results)

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.run / "run.jsonl").read_text().splitlines()]

    @property
    def ends(self) -> dict[str, tuple[str, str]]:
        """Outcome and reason of each case that did not end well, by label."""
        labels = {e["case"]: e["label"] for e in self.events if e["event"] == "case"}
        return {
            labels[e["case"]]: (e["outcome"], e["reason"])
            for e in self.events
            if e["event"] == "outcome"
        }


class Surroundings:
    """Folders and variables of their own, with the rogue and with plugins that a test writes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.results = folder / "results"
        self.site = folder / "site"
        self.site.mkdir()
        self.mark = uuid.uuid4().hex
        self.install("mbench_rogue", ROGUE.read_text())
        self.variables = {
            name: value for name, value in os.environ.items() if not name.startswith("MBENCH_")
        }
        self.variables |= {
            "PYTHONPATH": str(self.site),
            "FAULTS": self.mark,
            "COLUMNS": "200",
            **{f"MBENCH_{name}": str(folder / name.lower())
               for name in ("CALIBRATIONS", "ENVIRONMENTS", "PROOFS", "RESULTS")},
        }  # fmt: skip

    def install(self, module: str, code: str) -> None:
        """Install a distribution of one module, which is a plugin."""
        (self.site / f"{module}.py").write_text(code)
        about = self.site / f"{module}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(f"[mbench]\n{module} = {module}\n")

    def start(self, *arguments: str, **variables: str) -> subprocess.Popen[str]:
        """Start `mbench` with these arguments."""
        return self.popen([sys.executable, "-m", "mbench", *arguments], **variables)

    def popen(self, command: list[str], **variables: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env={**self.variables, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,  # its own terminal, as it were
        )

    def finish(self, process: subprocess.Popen[str]) -> Done:
        with process:
            try:
                out, err = process.communicate(timeout=PATIENCE)
            finally:
                process.kill()
        return Done(process.returncode, out, err, self.results)

    @property
    def run(self) -> Path:
        return run_in(self.results)

    def mbench(self, *arguments: str, **variables: str) -> Done:
        done = commands.mbench(
            *arguments, env={**self.variables, **variables}, cwd=self.folder, timeout=PATIENCE
        )
        return Done(done.returncode, done.stdout, done.stderr, self.results)

    def compare(self, *frameworks: str, options: tuple[str, ...] = (), **variables: str) -> Done:
        """Run a short comparison."""
        return self.mbench(
            "compare", "--frameworks", ",".join(frameworks), *QUICK, *options, **variables
        )

    def living(self) -> list[int]:
        """Processes that this test started, or that those started."""
        mark, found = f"FAULTS={self.mark}".encode(), []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
            except OSError:
                continue
        return found


def run_in(results: Path) -> Path:
    """The folder of the only run."""
    (file,) = results.glob("*/run.jsonl")
    return file.parent


def eventually(true: Callable[[], Any], what: str, *, seconds: float = PATIENCE) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < deadline, f"never {what}"
        time.sleep(0.02)
    return found


def one_line(said: str) -> bool:
    """Whether `said` is an error as a user should see it."""
    return said.startswith("mbench: ") and said.count("\n") == 1 and "Traceback" not in said
