"""Two hosts, and launchers on them. Where they cannot be created, tests are skipped, loudly."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import clusters
import hosts as engines
import network
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ENGINES = {"mpi": "mpirun", "slurm": "slurmctld", "ray": ""}


def lacking(name: str) -> str:
    """Why an engine cannot be tried here; empty if it can."""
    if reason := network.lacking():
        return reason
    if name == "ray":
        return "" if find_spec("ray") else "Ray is not installed in this Python"
    return "" if shutil.which(ENGINES[name]) else f"{ENGINES[name]} is not installed"


@pytest.fixture(scope="session")
def two() -> Iterator[list[network.Host]]:
    """Two hosts; asserts that nothing runs on them afterwards."""
    if reason := network.lacking():
        pytest.skip(reason)
    made = network.make(2)
    yield made
    left = {host.name: host.pids() for host in made}
    network.remove(2)
    assert not any(left.values()), left


@pytest.fixture(scope="module", params=list(ENGINES))
def engine(request, two) -> Iterator[tuple[str, dict[str, str]]]:
    """The name of a running engine, and the variables by which it is found."""
    name = request.param
    if reason := lacking(name):
        pytest.skip(reason)
    folder = Path(tempfile.mkdtemp(prefix="mbl"))
    try:
        with clusters.made(name, folder, two) as variables:
            yield name, variables
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def around(engine, monkeypatch) -> str:
    """Sets the variables by which the engine is found; gives its name."""
    name, variables = engine
    monkeypatch.setenv("PYTHONPATH", engines.importable())
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    return name


@pytest.fixture
def opened(around):
    """A function that opens the launcher; nothing that it started may be left here or on a host."""
    made, before = [], clusters.children()

    def opened(nodes=2):
        module = import_module(f"mbench.engine.{around}")
        named = "mbh1,mbh2" if around == "mpi" else ""
        made.append(module.open(nodes=nodes, hosts=named, accelerators=0))
        return made[-1]

    yield opened
    for one in made:
        one.close()
    with contextlib.suppress(AssertionError):
        clusters.until(lambda: clusters.children() <= before, "gone", 10)
    assert clusters.children() <= before
    assert clusters.keeping() == []
