"""Fixtures that run mbench: in a folder of its own, in which it must leave nothing behind."""

from __future__ import annotations

import signal
import sys

import pytest
from comparing import assert_no_workers

from mbench.cli.main import main


@pytest.fixture
def surroundings(tmp_path, monkeypatch):
    """A working folder of the test's own; no worker and no temporary file may be left behind."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MBENCH_PROOFS", str(tmp_path / "proofs"))
    monkeypatch.setenv("MBENCH_ENVIRONMENTS", str(tmp_path / "environments"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    monkeypatch.delenv("MBENCH_RESULTS", raising=False)
    yield tmp_path
    assert list((tmp_path / "tmp").iterdir()) == [], "temporary files were left behind"
    assert_no_workers(tmp_path)


@pytest.fixture
def command(monkeypatch, capsys):
    """Runs mbench in this process; returns its exit code, stdout and stderr."""
    before = signal.getsignal(signal.SIGTERM)

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["mbench", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code, *capsys.readouterr()

    yield command
    signal.signal(signal.SIGTERM, before)
