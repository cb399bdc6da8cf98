"""An mpirun that is broken is refused in one line, in time.

It hangs, floods, forks, ignores signals or answers garbage.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest
from surroundings import QUICK, eventually, one_line

if TYPE_CHECKING:
    from surroundings import Done, Surroundings

MPI = ("compare", "tiny", "tiny", *QUICK, "--launcher", "mpi", "--hosts", "localhost")
PRELUDE = f"#!{sys.executable}\nimport os, signal, subprocess, sys, time\n"
CHILD = "subprocess.Popen(['sleep', '600'])\n"
DEAF = "for n in (1, 2, 10, 12, 15): signal.signal(n, signal.SIG_IGN)\n"


def put(around: Surroundings, name: str, code: str) -> dict[str, str]:
    """Put a program of that name first on the PATH; returns the variables that do so."""
    folder = around.folder / "bin"
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(PRELUDE + code)
    program.chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def refused(done: Done, *said: str) -> None:
    assert done.code in (1, 2)
    assert one_line(done.err), done.err
    assert "\x1b" not in done.err
    assert len(done.err) < 600
    for words in said:
        assert words in done.err


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (f"{DEAF}{CHILD}open('asked', 'a').write('x')\ntime.sleep(600)\n",
         "no answer from mpirun within 5 s"),
        ("while True: print('x' * 60000)\n", "mpirun printed more than 16 MiB"),
        ("print('\\x1b[2J\\x1b]0;title\\x07garbage')\n", "this one reports"),
        ("os.write(1, bytes(range(128, 256)))\n", "this one reports"),
        (f"{CHILD}print('\\x1b[31mno libmpi.so', file=sys.stderr)\nsys.exit(127)\n",
         "mpirun exited with code 127: [31mno libmpi.so"),
        ("os.kill(os.getpid(), 11)\n", "mpirun was killed by SIGSEGV"),
    ],
    ids=["hangs", "floods", "escapes", "binary", "fails", "crashes"],
)  # fmt: skip
def test_an_mpirun_that_is_none_is_refused(around, code, said):
    """Row 11, row 15 of the table of faults, see test_table.py."""
    done = around.mbench(*MPI, **put(around, "mpirun", code))
    refused(done, "--launcher mpi needs Open MPI's mpirun, but ", said)
    eventually(lambda: around.living() == [], "gone")
    asked = around.folder / "asked"
    assert not asked.exists() or asked.read_text() == "x", "it is asked once"
