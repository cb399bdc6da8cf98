"""Finds the adapter under test, the interpreter of its framework and the models to try it on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mbench.engine.isolation import scratch
from mbench.environments.locate import find
from mbench.errors import MbenchError
from mbench.machine.devices import usual
from mbench.plugins.manager import Plugins
from mbench.spec.arm import parse
from mbench.spec.selection import select
from mbench.testing.subject import Subject

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mbench.contract.adapter import Adapter
    from mbench.plugins.launcher import Worker
    from mbench.spec.arm import FrameworkSpec

PLUGINS = pytest.StashKey[Plugins]()
LOG_LINES = 30


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
        except pytest.UsageError:  # reported once, when all tests are collected
            compilers = []
        metafunc.parametrize("compiler", compilers, scope="module")


CHEAP_FIRST = ("description", "support", "proof", "work", "toggles", "faults", "clock")
"""Files of the kit in this order, so that mistakes in a description show within seconds."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without the name of an adapter, nothing runs; raises UsageError."""
    adapter_of(config)
    names = {f"test_{name}.py": at for at, name in enumerate(CHEAP_FIRST)}
    folder = Path(__file__).parent
    items.sort(
        key=lambda item: names.get(item.path.name, 0) if item.path.parent == folder else len(names)
    )


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """A failure shows the end of the worker's output: compiler errors appear only there."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    subject = getattr(item, "funcargs", {}).get("subject")
    if report.failed and isinstance(subject, Subject) and subject.log.exists():
        said = subject.log.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_LINES:]
        report.sections.append((f"end of {subject.log}", "\n".join(said)))


@pytest.fixture(scope="session")
def plugins(request: pytest.FixtureRequest) -> Plugins:
    return plugins_of(request.config)


@pytest.fixture(scope="session")
def adapter(request: pytest.FixtureRequest) -> Adapter:
    return adapter_of(request.config)


def workloads_of(config: pytest.Config, plugins: Plugins) -> dict[str, str]:
    """Workloads of all models, or of --models; raises UsageError for an unknown model."""
    found = plugins.workloads.unique()
    words = config.getoption("models")
    if not words:
        return found
    try:
        return {name: found[name] for name in select(words.split(","), plugins.workloads)}
    except MbenchError as error:
        raise pytest.UsageError(str(error)) from None


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
            workloads=workloads_of(request.config, plugins),
            device=device,
            log=tmp_path_factory.mktemp("worker") / "worker.log",
        )


@pytest.fixture(scope="module")
def worker(subject: Subject) -> Iterator[Worker]:
    """One worker for all tests of a file, which prepare what they need."""
    with subject.worker(subject.case()) as worker:
        yield worker
