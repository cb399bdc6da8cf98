"""The temporary folder that the workers of a command share, and its removal."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from mbench.engine import isolation


def folder_of(worker) -> Path:
    told = Path(f"/proc/{worker.process.pid}/environ").read_bytes().split(b"\0")
    (found,) = [entry for entry in told if entry.startswith(b"TMPDIR=")]
    return Path(os.fsdecode(found[len(b"TMPDIR=") :]))


def test_workers_of_one_command_share_a_folder_that_goes_with_it(start, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with isolation.scratch():
        one, other = folder_of(start()), folder_of(start())
        assert one == other
        (one / "kernel.so").write_text("half of i")
    assert not one.exists()
    with isolation.scratch():
        assert folder_of(start()) != one
    assert folder_of(start()) == tmp_path, "as it is around mbench"


def test_the_users_own_folder_wins(start, tmp_path):
    with isolation.scratch():
        assert folder_of(start(TMPDIR=str(tmp_path))) == tmp_path


def test_it_goes_after_a_failure_too():
    seen = []

    def fail():
        with isolation.scratch():
            seen.append(Path(isolation.scratch_variables()["TMPDIR"]))
            assert seen[0].is_dir()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert not seen[0].exists()
    assert isolation.scratch_variables() == {}


def test_it_goes_although_a_process_that_ends_still_writes_into_it(monkeypatch):
    removed = []

    def remove(path, *, ignore_errors):
        really(path, ignore_errors=ignore_errors)
        removed.append(path)
        if len(removed) < 3:
            path.mkdir()
            (path / "late").touch()

    really = shutil.rmtree
    monkeypatch.setattr(shutil, "rmtree", remove)
    with isolation.temporary_folder() as folder:
        pass
    assert removed == [folder] * 3
    assert not folder.exists()


KILLED = """
import os, signal
from mbench.engine import isolation
print(isolation.TemporaryFolder().path, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_owner_left_goes_with_the_next(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    around = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", KILLED], env=around, stdout=subprocess.PIPE, text=True, check=False
    )
    left = Path(done.stdout.strip())
    assert left.is_dir()
    (left / "kernel.so").write_text("half of i")
    strange = tmp_path / "mbench-of-somebody-else"
    strange.mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / ".owner").touch()
    (tmp_path / "mbench-a-link").symlink_to(tmp_path / "elsewhere")
    with isolation.temporary_folder() as one, isolation.temporary_folder() as other:
        assert not left.exists()
        assert one.is_dir()
        assert other.is_dir()
    assert {path.name for path in tmp_path.iterdir()} == {
        strange.name, "elsewhere", "mbench-a-link"
    }  # fmt: skip
    assert (tmp_path / "elsewhere" / ".owner").exists()
