"""Finds the adapter under test, the interpreter of its framework and the models to try it on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mbench.engine.isolation import scratch
from mbench.environments.locate import find
from mbench.errors import MbenchError
from mbench.machine.devices import usual
from mbench.plugins.manager import Plugins
from mbench.spec.arm import parse
from mbench.testing.subject import Subject

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mbench.contract.adapter import Adapter
    from mbench.plugins.launcher import Worker
    from mbench.spec.arm import FrameworkSpec

PLUGINS = pytest.StashKey[Plugins]()


def plugins_of(config: pytest.Config) -> Plugins:
    if PLUGINS not in config.stash:
        config.stash[PLUGINS] = Plugins()
    return config.stash[PLUGINS]


def spec_of(config: pytest.Config) -> FrameworkSpec:
    text = config.getoption("adapter")
    if not text:
        raise pytest.UsageError("mbench.testing tests one adapter: give its name as --adapter NAME")
    try:
        return parse(text)
    except MbenchError as error:
        raise pytest.UsageError(str(error)) from None


def adapter_of(config: pytest.Config) -> Adapter:
    try:
        return plugins_of(config).adapter(spec_of(config).name)
    except MbenchError as error:
        said = [f"{p.plugin} {p.message}" for p in plugins_of(config).problems]
        raise pytest.UsageError("; ".join([str(error), *said])) from None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes a compiler runs for each that the adapter names."""
    if "compiler" in metafunc.fixturenames:
        try:
            compilers = list(adapter_of(metafunc.config).compilers)
        except pytest.UsageError:  # said once, when all tests are collected
            compilers = []
        metafunc.parametrize("compiler", compilers, scope="module")


def pytest_collection_modifyitems(config: pytest.Config) -> None:
    """Without the name of an adapter nothing runs; raises UsageError."""
    adapter_of(config)


@pytest.fixture(scope="session")
def plugins(request: pytest.FixtureRequest) -> Plugins:
    return plugins_of(request.config)


@pytest.fixture(scope="session")
def adapter(request: pytest.FixtureRequest) -> Adapter:
    return adapter_of(request.config)


@pytest.fixture(scope="session")
def subject(
    request: pytest.FixtureRequest,
    adapter: Adapter,
    plugins: Plugins,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Subject]:
    """The adapter with its framework's interpreter; a managed environment is built on first use."""
    device = usual()
    environment = find(
        spec_of(request.config), adapter, accelerator=device, provision=True, report=print
    )
    with scratch():
        yield Subject(
            adapter=adapter,
            environment=environment,
            workloads=plugins.workloads.unique(),
            device=device,
            log=tmp_path_factory.mktemp("worker") / "worker.log",
        )


@pytest.fixture(scope="module")
def worker(subject: Subject) -> Iterator[Worker]:
    """One worker for all tests of a file, which prepare what they need."""
    with subject.worker(subject.case()) as worker:
        yield worker
