"""How processes end, in words."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from mbench.machine import process_end as ending_module
from mbench.machine.process_end import bound, ending, has_ended, last_line


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (0, "exited with code 0"),
        (3, "exited with code 3"),
        (-signal.SIGSEGV, "was killed by SIGSEGV"),
        (-signal.SIGKILL, "was killed by SIGKILL, perhaps by the system for lack of memory"),
        (-40, "was killed by signal 40"),
    ],
)
def test_endings(code, words):
    assert ending(code) == words


def test_a_process_has_ended_before_it_is_waited_for():
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert not has_ended(process.pid)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert has_ended(process.pid)
    process.communicate()
    assert has_ended(process.pid)


@pytest.mark.parametrize(
    ("text", "line"),
    [("", ""), ("\n\n", ""), ("one\ntwo\n\n", "two"), ("x" * 999, "x" * 95 + " ... " + "x" * 100)],
)
def test_last_words(tmp_path, text, line):
    log = tmp_path / "log"
    log.write_text(text)
    assert last_line(log) == line
    assert last_line(tmp_path / "none") == ""


def test_a_flooded_log_keeps_how_it_began_and_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(ending_module, "MOST_BYTES", 2**16)
    monkeypatch.setattr(ending_module, "KEPT_BYTES", 2**10)
    log = tmp_path / "log"
    log.write_text("first\n" + "again\n" * 10_000)
    bound(log)
    assert log.stat().st_size == 60_006, "it is short enough"
    with log.open("a") as file:
        file.write("again\n" * 2_000 + "going down\n")
        file.flush()
        bound(log)
        file.write("gone\n")
    assert log.stat().st_size < 6_000
    text = log.read_text()
    assert text.startswith("first\n")
    assert "the log was too long" in text
    assert text.endswith("going down\ngone\n")


def test_last_words_of_a_log_that_fits_no_memory(tmp_path):
    log = tmp_path / "log"
    with log.open("wb") as file:
        file.truncate(2**40)
        file.seek(0, os.SEEK_END)
        file.write(b"\ngoing down\n")
    assert last_line(log) == "going down"
