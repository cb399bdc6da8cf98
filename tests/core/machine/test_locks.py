"""Locks, also on file systems that have none or never answer."""

from __future__ import annotations

import errno
import fcntl
import os
import threading
import time

import pytest

from mbench.environments import managed
from mbench.errors import MbenchError
from mbench.machine import locks
from mbench.machine.locks import lock
from mbench.results.runfile import RunFile


@pytest.fixture
def file(tmp_path):
    """Opens the same file anew with each call; returns its descriptor."""
    opened = []

    def file():
        opened.append(os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT))
        return opened[-1]

    yield file
    for descriptor in opened:
        os.close(descriptor)


@pytest.fixture(params=[errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, 524, "silent"])
def without(request, monkeypatch):
    """A file system without locks: it answers with one of these errors, or not at all."""
    over = threading.Event()

    def flock(descriptor, kind):
        if request.param == "silent":
            over.wait()
        raise OSError(request.param, "no locks")

    monkeypatch.setattr(locks, "ANSWER_SECONDS", 0.05)
    monkeypatch.setattr(fcntl, "flock", flock)
    yield
    over.set()


def test_a_lock_is_held_until_the_file_is_closed(file):
    first, second = file(), file()
    assert lock(first)
    for shared in (True, False):
        with pytest.raises(BlockingIOError):
            lock(second, shared=shared)
    fcntl.flock(first, fcntl.LOCK_UN)
    assert lock(second, shared=True)
    assert lock(first, shared=True)


def test_where_there_are_no_locks_that_is_known_in_time(file, without):
    began = time.monotonic()
    assert not lock(file())
    assert time.monotonic() - began < 5


def test_a_run_is_written_without_locks_and_that_is_said(tmp_path, without, capsys):
    written = RunFile(tmp_path / "run.jsonl", new=True)
    written.append("{}")
    written.close()
    assert (tmp_path / "run.jsonl").read_text() == "{}\n"
    assert "the file system has no locks, so nothing keeps a second mbench" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("holder", "refused"),
    [(None, False), ("{host} {gone}", False), ("{host} {alive}", True), ("elsewhere 1", True),
     ("nonsense", True)],
)  # fmt: skip
def test_an_environment_is_built_by_one_without_locks(tmp_path, without, holder, refused):
    held = tmp_path / "toy.held"
    if holder:
        numbers = {"gone": 2**22 + 1, "alive": os.getpid()}
        held.write_text(holder.format(host=locks.socket.gethostname(), **numbers))
    ways = managed.locked(tmp_path / "toy.lock", busy=lambda: pytest.fail("nobody waits"))
    told = r"has no locks, and .*toy\.held says that another .* delete that file if no other"
    if refused:
        with pytest.raises(MbenchError, match=told), ways:
            pass
        assert held.exists()
        return
    with ways:
        again = managed.locked(tmp_path / "toy.lock", busy=lambda: None)
        with pytest.raises(MbenchError, match=told), again:
            pass
    assert not held.exists()
