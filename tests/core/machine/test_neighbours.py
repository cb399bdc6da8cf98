"""Another mbench on the same machine is seen, whoever started it and however."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import datetime, timezone

import pytest

from mbench.machine import neighbours as module
from mbench.machine.neighbours import measures, neighbours

WAITS = "import sys; sys.stdin.read()"
STARTS = (
    "import subprocess, sys; worker = subprocess.Popen([sys.executable, '-c', 'import sys; "
    "sys.stdin.read()', '/x/mbench/worker/bootstrap.py']); print(flush=True); worker.wait()"
)


@pytest.fixture
def started(monkeypatch):
    """Starts Python with the given arguments, as if somebody else had: we are not its ancestor."""
    made = []

    def start(*words):
        process = subprocess.Popen([sys.executable, "-c", *words], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)  # fmt: skip
        made.append(process)
        return process

    real = module.lineage
    monkeypatch.setattr(module, "lineage",
                        lambda pid=None: real(pid) - {os.getpid()})  # fmt: skip
    yield start
    for process in made:
        process.communicate()


def test_a_command_that_measures_is_seen_with_its_beginning(started):
    before = datetime.now(timezone.utc)
    other = started(WAITS, "/home/x/bin/mbench", "compare", "torch", "tf")
    (found,) = (one for one in neighbours() if one.pid == other.pid)
    assert abs((datetime.fromisoformat(found.since) - before).total_seconds()) < 5


def test_whoever_has_a_worker_measures_however_it_was_started(started):
    notebook = started(STARTS)
    notebook.stdout.readline()
    assert notebook.pid in {one.pid for one in neighbours()}


def test_what_this_process_has_started_is_no_other(started, monkeypatch):
    ours = started(WAITS, "/home/x/bin/mbench", "compare", "torch", "tf")
    monkeypatch.undo()
    assert ours.pid not in {one.pid for one in neighbours()}


def test_where_processes_are_not_listed_there_is_nobody(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "PROCESSES", tmp_path / "nowhere")
    assert neighbours() == []


@pytest.mark.parametrize(
    ("line", "is_one"),
    [
        ("python /x/bin/mbench compare torch tf", True),
        ("python /x/bin/mbench train torch tf --task glyphs", True),
        ("python -P -m mbench run quick", True),
        ("mbench disk /scratch", True),
        ("python /x/bin/mbench compare torch tf --dry-run", False),
        ("python /x/bin/mbench show", False),
        ("vim /x/mbench", False),
        ("git -C mbench run", False),
        ("mbench", False),
    ],
)
def test_command_lines(line, is_one):
    assert measures([word.encode() for word in line.split()]) is is_one
