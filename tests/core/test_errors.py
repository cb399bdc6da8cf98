"""Errors that users can fix: each says how, with commands that work in this installation."""

from __future__ import annotations

import errno
import sys

import pytest

from mbench import errors
from mbench.errors import MbenchError, lacking, scarce


@pytest.mark.parametrize(
    ("pip", "command"),
    [
        (object(), f"{sys.executable} -m pip install 'duckdb>="),
        (None, f"uv pip install --python {sys.executable} 'duckdb>="),
    ],
)
def test_what_an_extra_brings_is_installed_into_the_python_that_runs_mbench(
    monkeypatch, pip, command
):
    monkeypatch.setattr(errors, "find_spec", lambda _: pip)
    error = lacking("DuckDB", extra="analysis")
    assert isinstance(error, MbenchError)
    assert f"this needs DuckDB, from mbench's extra analysis: {command}" in str(error)
    assert "pandas" in str(error)
    assert "extra ==" not in str(error)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "not enough memory: free some, or raise the limit"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "not enough memory"),
        (ImportError("x.so: failed to map segment from shared object"), "not enough memory"),
        (RuntimeError("can't start new thread"), "cannot start another process or thread"),
        (OSError(errno.EAGAIN, "Resource temporarily unavailable"), "cannot start another process"),
        (OSError(errno.EMFILE, "Too many open files"), "too many open files: raise ulimit -n"),
        (RecursionError(), "nested too deeply"),
        (RuntimeError("another"), ""),
        (OSError(errno.ENOSPC, "No space left on device"), ""),
    ],
    ids=repr,
)
def test_what_is_scarce_is_named_with_what_helps(error, said):
    assert said in scarce(error)
    assert bool(scarce(error)) == bool(said)


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("can't start new thread")], ids=repr)
def test_the_command_ends_in_one_line_where_something_is_scarce(monkeypatch, capfd, error):
    from mbench.cli import main as command

    def raise_it(*_, **__):
        raise error

    monkeypatch.setattr(sys, "stderr", sys.stderr)  # restored afterwards: main() replaces it
    monkeypatch.setattr(command.group, "main", raise_it)
    monkeypatch.setattr(command.signal, "signal", lambda *_: None)
    with pytest.raises(SystemExit) as end:
        command.main()
    assert end.value.code == 1
    said = capfd.readouterr().err
    assert said == f"mbench: {scarce(error)}\n"
