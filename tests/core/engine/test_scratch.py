"""The temporary folder of a command's workers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mbench.engine import scratch


def folder_of(worker) -> Path:
    told = Path(f"/proc/{worker.process.pid}/environ").read_bytes().split(b"\0")
    (found,) = [entry for entry in told if entry.startswith(b"TMPDIR=")]
    return Path(os.fsdecode(found[len(b"TMPDIR=") :]))


def test_workers_of_one_command_share_a_folder_that_goes_with_it(start, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with scratch.scratch():
        one, other = folder_of(start()), folder_of(start())
        assert one == other
        (one / "kernel.so").write_text("half of i")
    assert not one.exists()
    with scratch.scratch():
        assert folder_of(start()) != one
    assert folder_of(start()) == tmp_path, "as it is around mbench"


def test_the_users_own_folder_wins(start, tmp_path):
    with scratch.scratch():
        assert folder_of(start(TMPDIR=str(tmp_path))) == tmp_path


def test_it_goes_after_a_failure_too():
    seen = []

    def fail():
        with scratch.scratch():
            seen.append(Path(scratch.variables()["TMPDIR"]))
            assert seen[0].is_dir()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert not seen[0].exists()
    assert scratch.variables() == {}
