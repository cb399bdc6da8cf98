"""Interpreters on this machine, and the packages that are installed in them."""

from __future__ import annotations

import platform
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from toy import installed

from mbench.contract.installed import distributions, packages
from mbench.environments import interpreters

if TYPE_CHECKING:
    from collections.abc import Callable


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def found(path: str, *version: int, level: str = "final", free: bool = False) -> SimpleNamespace:
    return SimpleNamespace(
        executable=path,
        version_str=".".join(map(str, version)),
        version_info=SimpleNamespace(releaselevel=level),
        free_threaded=free,
    )


def test_the_running_python() -> None:
    (interpreter,) = interpreters.satisfying(">=3.10", others=False)
    assert interpreter.path == Path(sys.executable)
    assert interpreter.minor == ".".join(platform.python_version_tuple()[:2])


def test_the_newest_release_of_each_minor_version_that_is_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = [
        found("/nine", 3, 9, 18),
        found("/ten", 3, 10, 2),
        found("/ten-newer", 3, 10, 13),
        found("/twelve", 4, 12, 0),
        found("/candidate", 3, 10, 14, level="candidate"),
        found("/free", 3, 10, 15, free=True),
    ]
    monkeypatch.setattr("platform.python_version", lambda: "3.99.0")
    monkeypatch.setattr("python_discovery.iter_interpreters", lambda *_, **__: iter(machine))
    nine, ten = interpreters.satisfying(">=3.9,<3.11")
    assert nine == interpreters.Interpreter(path=Path("/nine"), version="3.9.18")
    assert ten == interpreters.Interpreter(path=Path("/ten-newer"), version="3.10.13")
    assert interpreters.satisfying("<3.9") == []


def test_versions_of_a_version_manager_are_found_though_inactive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "versions" / "3.10.13" / "bin"
    folder.mkdir(parents=True)
    (folder / "python3.10").symlink_to(sys.executable)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "shims"))
    searched: dict[str, str] = {}

    def search(*_: object, env: dict[str, str], **__: object) -> list[object]:
        searched.update(env)
        return []

    monkeypatch.setattr("python_discovery.iter_interpreters", search)
    assert interpreters.satisfying("<3") == []
    assert str(folder) in searched["PATH"]
    assert "shims" not in searched["PATH"]


def test_ask_tells_what_is_there_and_imports_nothing(tmp_path: Path) -> None:
    installed(tmp_path, version="1.5")
    (tmp_path / "mere_folder").mkdir()
    variables = {"PYTHONPATH": str(tmp_path)}
    imports = ["toylib", "toylib.sub", "json", "mere_folder", "no_such", "spec"]
    holdings = interpreters.ask(Path(sys.executable), imports, variables=variables)
    assert holdings.python == platform.python_version()
    assert holdings.missing == ["mere_folder", "no_such", "spec"]
    assert holdings.packages["toy"] == "1.5"


def test_ask_passes_over_what_else_is_printed(tmp_path: Path) -> None:
    python = script(tmp_path / "python", f'echo welcome; exec {sys.executable} "$@"')
    assert interpreters.ask(python, ["json"], variables={}).missing == []


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: path / "none", "No such file"),
        (lambda path: path, "Permission denied"),
        (lambda path: script(path / "python", "echo broken >&2; exit 3"), "broken"),
        (lambda path: script(path / "python", "exit 3"), "status 3"),
        (lambda path: script(path / "python", "echo hello"), "does not"),
        (lambda path: script(path / "python", "exit 0"), "does not behave"),
    ],
)
def test_ask_says_why_an_interpreter_does_not_run(
    tmp_path: Path, make: Callable[[Path], Path], reason: str
) -> None:
    with pytest.raises(interpreters.DoesNotRun, match=reason):
        interpreters.ask(make(tmp_path), ["json"], variables={})


def test_an_interpreter_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreters, "_PROBE_SECONDS", 0.2)
    with pytest.raises(interpreters.DoesNotRun, match="within"):
        interpreters.ask(script(tmp_path / "python", "exec sleep 9"), [], variables={})


def test_first_on_the_path_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path / "a", version="1.0")
    installed(tmp_path / "b", version="2.0")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "a"), str(tmp_path / "b")])
    assert packages(distributions()) == {"toy": "1.0"}
