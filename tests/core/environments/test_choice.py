"""Which Python the frameworks of a command share; environments that are built are preferred."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from toy import ToyAdapter

from mbench.environments import managed
from mbench.environments.choice import choose
from mbench.environments.locate import find
from mbench.errors import EnvironmentUnavailable
from mbench.spec.arm import parse

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes mbench find these versions of Python, the first of which runs mbench itself."""

    def machine(first: str, *others: str) -> None:
        monkeypatch.setattr("platform.python_version", lambda: first)
        found = [
            SimpleNamespace(
                executable=f"/{version}", version_str=version, free_threaded=False,
                version_info=SimpleNamespace(releaselevel="final"),
            )
            for version in (first, *others)
        ]  # fmt: skip
        monkeypatch.setattr("python_discovery.iter_interpreters", lambda *_, **__: iter(found))

    return machine


def built(adapter: ToyAdapter, python: str) -> None:
    """Make the folder of an environment of `adapter` on that Python."""
    pins = list(adapter.pins)
    minor = ".".join(python.split(".")[:2])
    folder = managed.root() / managed.key(adapter.name, requirements=pins, python=minor)
    (folder / "bin").mkdir(parents=True)
    managed.python_in(folder).symlink_to("/bin/sh")
    whole = managed.Record(
        adapter=adapter.name, requirements=pins, python=python, packages={}, created="", mbench=""
    )
    managed.write_record(whole, folder=folder)


def chosen(*adapters: ToyAdapter) -> dict[str, str]:
    """The Python chosen for each adapter, with " new" if its environment would have to be built."""
    wanted = [(parse(adapter.name), adapter) for adapter in adapters]
    return {
        text: one.minor + (" new" if one.interpreter else "")
        for text, one in choose(wanted, accelerator="cpu").items()
    }


OLD = ToyAdapter(name="old", pythons=">=3.10,<3.12")
NEW = ToyAdapter(name="new", pythons=">=3.11")
ANY = ToyAdapter(name="any")


def test_the_running_python_serves_all_where_it_can(machine, monkeypatch):
    machine("3.11.7")
    monkeypatch.setattr("python_discovery.iter_interpreters", lambda *_, **__: pytest.fail("slow"))
    assert chosen(OLD, NEW, ANY) == {"old": "3.11 new", "new": "3.11 new", "any": "3.11 new"}


def test_one_python_serves_all_though_mbench_runs_on_another(machine):
    machine("3.10.13", "3.11.7", "3.13.0")
    assert chosen(OLD, NEW, ANY) == {"old": "3.11 new", "new": "3.11 new", "any": "3.11 new"}
    assert chosen(NEW, ANY) == {"new": "3.13 new", "any": "3.13 new"}
    assert chosen(ANY) == {"any": "3.10 new"}


@pytest.mark.parametrize("python", ["3.10.13", "3.12.1", "3.13.0"])
def test_an_environment_that_is_there_is_preferred_to_another_python_s(machine, python):
    machine(python, "3.11.7", "3.13.0")
    built(NEW, "3.11.7")
    assert chosen(NEW) == {"new": "3.11"}
    assert chosen(NEW, ANY) == {"new": "3.11", "any": "3.11 new"}
    built(NEW, "3.13.0")
    assert chosen(NEW) == {"new": "3.13"}
    built(ANY, "3.11.7")
    assert chosen(NEW, ANY) == {"new": "3.11", "any": "3.11"}


def test_what_no_python_can_share_runs_on_two(machine):
    machine("3.12.1", "3.10.13")
    assert chosen(OLD, NEW) == {"old": "3.10 new", "new": "3.12 new"}


def test_an_environment_of_other_pins_does_not_count(machine):
    machine("3.11.7")
    built(ToyAdapter(name="any", pins=("toy==0.9",)), "3.11.7")
    assert chosen(ANY) == {"any": "3.11 new"}


def test_an_environment_of_another_python_is_found_without_building(machine):
    machine("3.12.1")
    built(ANY, "3.11.7")
    environment = find(parse("any"), ANY, accelerator="cpu", provision=False, report=lambda _: None)
    assert environment.python_version == "3.11.7"


def test_no_python_will_do(machine):
    machine("3.9.1")
    assert chosen(ANY) == {}
    with pytest.raises(EnvironmentUnavailable, match=r"needs Python >=3.10, which was not found"):
        find(parse("any"), ANY, accelerator="cpu", provision=True, report=lambda _: None)
