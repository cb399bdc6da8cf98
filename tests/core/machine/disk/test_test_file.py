"""The file on which a disk is measured: where it is refused, and that it leaves nothing behind."""

from __future__ import annotations

import errno
import os
import shutil
from types import SimpleNamespace

import psutil
import pytest

from mbench.errors import MbenchError, UsageError
from mbench.machine.disk import test_file
from mbench.machine.disk.ended import DiskEnded
from mbench.machine.disk.test_file import check, mount_of, temporary_file


def test_the_file_is_whole_written_and_has_no_name(tmp_path):
    with temporary_file(tmp_path, size=5 * 2**20 + 1, direct=False) as descriptor:
        assert os.fstat(descriptor).st_size == 5 * 2**20 + 1
        assert os.fstat(descriptor).st_blocks * 512 >= 5 * 2**20
        assert os.pread(descriptor, 2**20, 0) != os.pread(descriptor, 2**20, 2**20)
        assert os.listdir(tmp_path) == []
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(descriptor)


def test_a_file_system_that_refuses_o_direct_is_unsupported_unless_buffered(tmp_path, monkeypatch):
    before = os.open

    def refusing(path, flags, *rest, **more):
        if flags & os.O_DIRECT:
            raise OSError(errno.EINVAL, "Invalid argument")
        return before(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", refusing)
    with (
        pytest.raises(DiskEnded, match="--buffered") as end,
        temporary_file(tmp_path, size=1, direct=True),
    ):
        pass
    assert end.value.outcome == "unsupported"
    with temporary_file(tmp_path, size=1, direct=False) as descriptor:
        assert os.fstat(descriptor).st_size == 1


def test_a_disk_that_is_full_after_all_is_one_line(tmp_path, monkeypatch):
    def full(file, size):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(test_file, "fill", full)
    with (
        pytest.raises(MbenchError, match="No space left"),
        temporary_file(tmp_path, size=1, direct=False),
    ):
        pass


def test_a_folder_without_room_is_refused_before_it_is_filled(tmp_path):
    size = 2 * shutil.disk_usage(tmp_path).free
    with pytest.raises(MbenchError, match="give a smaller --size"):
        check(tmp_path, size=size)


def test_a_block_device_is_refused(monkeypatch, tmp_path):
    fake = SimpleNamespace(st_mode=0o060660)
    monkeypatch.setattr(type(tmp_path), "stat", lambda self, **_: fake)
    monkeypatch.setattr(test_file, "DESCRIPTORS", SimpleNamespace(is_dir=lambda: True))
    with pytest.raises(UsageError, match="block device, whose contents would be lost"):
        check(tmp_path, size=1)


def test_a_file_or_nothing_is_no_folder(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="is not a folder"):
        check(tmp_path / "file", size=1)
    with pytest.raises(UsageError, match="No such file"):
        check(tmp_path / "nowhere", size=1)


def test_where_there_is_no_proc_it_is_unsupported(tmp_path, monkeypatch):
    monkeypatch.setattr(test_file, "DESCRIPTORS", tmp_path / "fd")
    with pytest.raises(DiskEnded, match="Linux only"):
        check(tmp_path, size=1)


def test_the_mount_is_the_nearest_and_the_last_one(tmp_path, monkeypatch):
    def part(point, kind):
        return SimpleNamespace(mountpoint=str(point), fstype=kind, device="/dev/any")

    (tmp_path / "a" / "b").mkdir(parents=True)
    parts = [part("/", "ext4"), part(tmp_path, "hidden"), part(tmp_path, "xfs"),
             part(tmp_path / "a" / "c", "tmpfs")]  # fmt: skip
    monkeypatch.setattr(psutil, "disk_partitions", lambda all: parts)  # noqa: A006
    found = mount_of(tmp_path / "a" / "b")
    assert (found.kind, found.point, found.is_memory) == ("xfs", str(tmp_path), False)
    assert mount_of(tmp_path / "a" / "c").is_memory
    monkeypatch.setattr(psutil, "disk_partitions", lambda all: [])  # noqa: A006
    assert mount_of(tmp_path) is None
