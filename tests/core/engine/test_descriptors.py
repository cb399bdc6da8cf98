"""The limit of open files is raised as far as many ranks need it."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

import pytest

from mbench.engine import isolation
from mbench.engine.isolation import OF_LOCAL, OF_REMOTE, allow_open_files
from mbench.errors import MbenchError


@pytest.fixture
def limits(monkeypatch):
    """Made-up limits of open files as [soft, hard], which setrlimit changes; 100 files are open."""
    found = [1024, 4096]
    monkeypatch.setattr(resource, "getrlimit", lambda what: tuple(found))

    def setrlimit(what, wanted):
        assert what == resource.RLIMIT_NOFILE
        found[:] = wanted

    monkeypatch.setattr(resource, "setrlimit", setrlimit)
    monkeypatch.setattr(isolation.os, "listdir", lambda path: ["0"] * 100)
    return found


def test_few_ranks_leave_the_limit_alone(limits):
    allow_open_files(64, each=OF_LOCAL)
    assert limits == [1024, 4096]


def test_many_ranks_raise_the_soft_limit_as_far_as_they_need(limits):
    allow_open_files(1000, each=OF_REMOTE)
    assert limits == [100 + 1000 + isolation.SPARE, 4096]


def test_more_than_is_allowed_is_told_in_one_line(limits):
    with pytest.raises(
        MbenchError, match="1,000 processes and mbench itself need about 4228 open files"
    ):
        allow_open_files(1000, each=OF_LOCAL)
    assert limits == [1024, 4096]


def test_no_limit_is_no_limit(limits):
    limits[:] = [1024, resource.RLIM_INFINITY]
    allow_open_files(10**6, each=OF_LOCAL)
    assert limits[0] > 10**6
    limits[:] = [resource.RLIM_INFINITY] * 2
    allow_open_files(10**9, each=OF_LOCAL)
    assert limits == [resource.RLIM_INFINITY] * 2


RANKS = """
import resource, sys
from pathlib import Path
import hosts
from mbench.engine import local
from mbench.errors import MbenchError
resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors := int(sys.argv[2]), int(sys.argv[3])))
try:
    worker = local.start(hosts.program(Path(sys.argv[1])), hosts.places(1, 4))
except MbenchError as error:
    sys.exit(str(error))
worker.kill()
print(resource.getrlimit(resource.RLIMIT_NOFILE)[0] > descriptors)
"""


@pytest.mark.parametrize(("hard", "raised"), [(1024, True), (100, False)])
def test_real_ranks_by_real_limits(tmp_path, hard, raised):
    done = subprocess.run(
        [sys.executable, "-c", RANKS, str(tmp_path / "log"), "100", str(hard)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.strip() == ("True" if raised else ""), done.stderr
    assert ("but 100 are allowed here" in done.stderr) is not raised
