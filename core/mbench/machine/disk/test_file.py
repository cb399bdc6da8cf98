"""The file in which a disk is measured. It has no name, so it cannot be left behind."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from mbench.errors import MbenchError, UsageError, reason_of, why
from mbench.machine.disk.ended import DiskEnded

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

__all__ = ["OF_MEMORY", "Mount", "check", "mount_of", "temporary_file"]

CHUNK_BYTES = 2**22
SPARE = 1.05
"""Free space needed, in multiples of the file's size: file systems reserve some space."""
DESCRIPTORS = Path("/proc/self/fd")
OF_MEMORY = ("ramfs", "tmpfs")


@dataclass(frozen=True, kw_only=True)
class Mount:
    """A mounted file system."""

    point: str
    kind: str
    device: str

    @property
    def is_memory(self) -> bool:
        return self.kind in OF_MEMORY


def mount_of(folder: Path) -> Mount | None:
    """The mount of `folder`; None if it is not known. Of several mounts at the same point, the last
    one hides the others.
    """
    parts = {Path(part.mountpoint): part for part in psutil.disk_partitions(all=True)}
    whole = folder.resolve()
    found = next((parts[above] for above in (whole, *whole.parents) if above in parts), None)
    return found and Mount(point=found.mountpoint, kind=found.fstype, device=found.device)


@contextlib.contextmanager
def temporary_file(folder: Path, *, size: int, direct: bool) -> Iterator[int]:
    """The descriptor of a file of `size` bytes on the disk. All of it is written, as unwritten
    parts would be read without accessing the disk.

    Raises DiskEnded if `direct` is true but the page cache cannot be bypassed, and MbenchError if
    the file cannot be written.
    """
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            if direct and not takes_direct(file.fileno()):
                raise DiskEnded(
                    "unsupported",
                    f"the file system of {folder} does not support bypassing the page cache "
                    "(O_DIRECT); use --buffered to measure through it",
                )
            fill(file, size)
            yield file.fileno()
    except OSError as error:
        raise MbenchError(f"cannot write in {folder}: {why(error)}") from None


def check(folder: Path, *, size: int) -> None:
    """Raises UsageError for anything but a folder, and MbenchError if it has too little space."""
    if not DESCRIPTORS.is_dir():
        raise DiskEnded("unsupported", "disks are measured on Linux only")
    try:
        mode = folder.stat().st_mode
    except OSError as error:
        raise UsageError(f"cannot measure in {reason_of(error)}") from None
    if stat.S_ISBLK(mode):
        raise UsageError(
            f"{folder} is a block device, whose contents would be lost; give a folder on it"
        )
    if not stat.S_ISDIR(mode):
        raise UsageError(f"{folder} is not a folder; give one in which a file can be created")
    free = shutil.disk_usage(folder).free
    if free < size * SPARE:
        raise MbenchError(
            f"{folder} has {free / 2**20:,.2f} MiB free, but a file of {size / 2**20:,.2f} MiB "
            f"needs {size * SPARE / 2**20:,.2f}, as file systems reserve some; give a smaller "
            "--size"
        )


def takes_direct(descriptor: int) -> bool:
    """Whether the file can be opened without the page cache."""
    try:
        os.close(os.open(DESCRIPTORS / str(descriptor), os.O_RDWR | os.O_DIRECT))
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.EOPNOTSUPP):
            return False
        raise
    return True


def fill(file: BinaryIO, size: int) -> None:
    """Fill the file with incompressible data, and drop it from the page cache."""
    left = size
    while left:
        left -= file.write(os.urandom(min(left, CHUNK_BYTES)))
    os.fsync(file.fileno())
    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
