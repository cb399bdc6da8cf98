"""What a user can fix: errors that the command line prints as one clear line."""

from __future__ import annotations

import errno
import shlex
import sys
from contextlib import contextmanager
from importlib.metadata import requires
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["EnvironmentUnavailable", "MbenchError", "PluginFailed", "UsageError", "about",
           "lacking", "reason_of", "scarce", "why"]  # fmt: skip


class MbenchError(Exception):
    """Carries one line that says what went wrong and how to fix it."""

    exit_code = 1


class UsageError(MbenchError):
    """The request names something that does not exist, or contradicts itself.

    Options are named as on the command line: `option` is the one at fault, if it is a single one,
    and `sweep` the number of the experiment's sweep.
    """

    exit_code = 2

    def __init__(self, message: str, *, option: str | None = None) -> None:
        super().__init__(message)
        self.option = option
        self.sweep: int | None = None


@contextmanager
def about(option: str) -> Iterator[None]:
    """Make usage errors raised in the block name `option` as the one to change."""
    try:
        yield
    except UsageError as error:
        error.option = error.option or option
        raise


def lacking(what: str, *, extra: str) -> MbenchError:
    """The error that `what` is not installed, with a command that installs it from an extra.

    The suggested command works in any Python that runs mbench, from pip, pipx or uv.
    """
    marks = f'extra == "{extra}"', f"extra == '{extra}'"
    wanted = [text.partition(";")[0].strip() for text in requires("mbench-dl") or []
              if text.endswith(marks)]  # fmt: skip
    python = shlex.quote(sys.executable)
    pip = f"{python} -m pip install" if find_spec("pip") else f"uv pip install --python {python}"
    return MbenchError(
        f"this needs {what}, from mbench's extra {extra}: "
        f"{pip} {' '.join(map(shlex.quote, wanted))}"
    )


def reason_of(error: OSError) -> str:
    """What the system refused, and for which file, if it says so."""
    said = error.strerror or str(error) or type(error).__name__
    return said if error.filename is None else f"{error.filename}: {said}"


REMEDIES = {
    errno.ENOSPC: "free some space, or give another folder",
    errno.EDQUOT: "delete some of your files, or give another folder",
    errno.EROFS: "give another folder",
}
"""What to do when a file cannot be written."""
LIMITS = "of the container or the batch job"


def why(error: OSError) -> str:
    """Why a file cannot be used, and what helps, for a message that names the file."""
    said = error.strerror or str(error) or type(error).__name__
    remedy = REMEDIES.get(error.errno or 0)
    return f"{said}: {remedy}" if remedy else said


def scarce(error: BaseException) -> str:
    """The resource whose shortage caused `error`, and what helps; empty for other errors."""
    if isinstance(error, RecursionError):
        return "something is nested too deeply to be read"
    number = error.errno if isinstance(error, OSError) else 0
    told = str(error)
    if isinstance(error, MemoryError) or number == errno.ENOMEM or "failed to map segment" in told:
        return f"there is not enough memory: free some, or raise the limit {LIMITS}, or ulimit -v"
    if number in (errno.EMFILE, errno.ENFILE):
        return "there are too many open files: raise ulimit -n"
    if number == errno.EAGAIN or (isinstance(error, RuntimeError) and "new thread" in told):
        return (
            "cannot start another process or thread: end some, or raise the limit "
            f"{LIMITS} (pids.max), or ulimit -u"
        )
    return ""


class EnvironmentUnavailable(MbenchError):
    """A framework has no interpreter to run in.

    `outcome` is "unsupported" if this machine cannot provide one, and "failed" if it could but
    did not.
    """

    def __init__(self, message: str, *, outcome: Literal["unsupported", "failed"]) -> None:
        super().__init__(message)
        self.outcome = outcome


class PluginFailed(MbenchError):
    """A plugin raised, or gave an invalid answer; `what` says where, in one printable line."""

    def __init__(self, plugin: str, what: str) -> None:
        self.what = "".join(c if c.isprintable() else "?" for c in " ".join(what.split()))
        super().__init__(f"plugin {plugin} {self.what}")
