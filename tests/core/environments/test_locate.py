"""Which interpreter a framework runs on."""

from __future__ import annotations

import os
import platform
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from toy import ToyAdapter, installed

from mbench.contract.adapter import Need
from mbench.environments import managed
from mbench.environments.locate import available, describe_location, find
from mbench.errors import EnvironmentUnavailable, UsageError
from mbench.spec.arm import parse

if TYPE_CHECKING:
    from mbench.environments.environment import Environment


MINOR = ".".join(platform.python_version_tuple()[:2])


def locate(text: str, *, provision: bool = False, **changes: Any) -> Environment:
    adapter = ToyAdapter(**changes)
    return find(parse(text), adapter, accelerator="cpu", provision=provision, report=lambda _: None)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Version 1.5+cpu is installed beside mbench."""
    installed(tmp_path / "site", version="1.5+cpu")
    monkeypatch.syspath_prepend(tmp_path / "site")


@pytest.mark.usefixtures("here")
def test_a_program_that_is_missing_is_named_before_anything_is_built(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need = Need(("toycc", "toycc-16"), "apt install toycc")
    said = "Toy needs toycc or toycc-16, which is not on PATH: apt install toycc"
    for text in ("toy", "toy==9.9", f"toy@{sys.executable}"):
        with pytest.raises(EnvironmentUnavailable, match=re.escape(said)) as caught:
            locate(text, provision=True, needs=(need,))
        assert caught.value.outcome == "unsupported"
    assert not root.exists()
    program = tmp_path / "toycc-16"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert locate("toy", needs=(need,)).python == Path(sys.executable)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("text", ["toy", "toy==1.5", "toy==1.5.0", "toy==1.5+cpu"])
def test_this_python_serves(text: str) -> None:
    environment = locate(text)
    assert environment.label == text
    assert environment.python == Path(sys.executable)
    assert not environment.managed
    assert environment.digest is None
    assert environment.packages["toy"] == "1.5+cpu"
    assert environment.variables() == {}
    assert describe_location(ToyAdapter(), accelerator="cpu") == "this Python"


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("toy==1.6", {}),
        ("toy==1.5+cu126", {}),
        ("toy", {"imports": ("toylib", "no_such")}),
        ("toy", {"pythons": f"!={platform.python_version()},>=3.9"}),
    ],
)
def test_this_python_does_not_serve(
    text: str, changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("python_discovery.iter_interpreters", lambda *_, **__: iter([]))
    with pytest.raises(EnvironmentUnavailable):
        locate(text, **changes)


def test_without_provision_the_mend_is_told(root: Path) -> None:
    with pytest.raises(EnvironmentUnavailable) as caught:
        locate("toy==1.0")
    assert caught.value.outcome == "failed"
    assert "--no-provision was given: run mbench env create toy==1.0 to build it" in str(
        caught.value
    )
    assert not root.exists()
    assert (
        describe_location(ToyAdapter(), accelerator="cpu") == "own environment, built on first use"
    )


@pytest.mark.usefixtures("here")
def test_no_python_of_this_machine_will_do() -> None:
    with pytest.raises(EnvironmentUnavailable, match=r"Toy needs Python >=99,<100.*PATH") as caught:
        locate("toy", provision=True, pythons=">=99,<100")
    assert caught.value.outcome == "unsupported"


@pytest.mark.parametrize(("version", "here"), [("0.9", True), ("0.8", False)])
def test_a_version_under_another_distribution_s_name_is_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, here: bool
) -> None:
    """One framework has distributions for several devices; all bring the same module."""
    installed(tmp_path / "site", version="0.9", name="toy_cuda")
    monkeypatch.syspath_prepend(tmp_path / "site")
    if here:
        assert locate(f"toy=={version}").python == Path(sys.executable)
        return
    with pytest.raises(EnvironmentUnavailable):
        locate(f"toy=={version}")


def test_a_given_python_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path / "site", version="0.9")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    (tmp_path / "python").symlink_to(sys.executable)
    environment = locate(f"toy@{tmp_path}/python")
    assert environment.python == tmp_path / "python"
    assert environment.packages["toy"] == "0.9"
    assert not environment.managed


def test_a_given_python_lacks_a_module() -> None:
    with pytest.raises(EnvironmentUnavailable, match="has no module toylib") as caught:
        locate(f"toy@{sys.executable}", imports=("json", "toylib"))
    assert caught.value.outcome == "failed"


@pytest.mark.parametrize("path", ["/no/such/python", os.devnull])
def test_a_given_python_does_not_run(path: str) -> None:
    with pytest.raises(UsageError, match=f"toy@{path}: {path} does not run as Python"):
        locate(f"toy@{path}")


@pytest.mark.usefixtures("toy")
def test_versions_have_environments_of_their_own() -> None:
    one, two = locate("toy", provision=True), locate("toy==2.0", provision=True)
    assert (one.packages["toy"], two.packages["toy"]) == ("1.0", "2.0")
    assert one.digest != two.digest
    assert locate("toy") == one
    assert len(managed.entries()) == 2
    assert describe_location(ToyAdapter(), accelerator="cpu") == f"own environment, Python {MINOR}"


def test_nothing_is_present_before_anything_is_built() -> None:
    assert available(ToyAdapter()) == []


@pytest.mark.usefixtures("here")
def test_this_python_is_present() -> None:
    (found,) = available(ToyAdapter())
    assert found.python == Path(sys.executable)
    assert found.packages == locate("toy").packages
