"""Managed environments are whole or not there."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import toy as toy_module
from alive import gone
from toy import ToyAdapter, gated

from mbench.environments import managed
from mbench.environments.locate import find
from mbench.errors import EnvironmentUnavailable
from mbench.spec.arm import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mbench.environments.environment import Environment


def provide(*, report: Callable[[str], None] = lambda _: None, **changes: Any) -> Environment:
    adapter = ToyAdapter(**changes)
    return find(parse("toy"), adapter, accelerator="cpu", provision=True, report=report)


def start(*requirements: str) -> subprocess.Popen[str]:
    """Start another process that looks for the toy framework, and builds it if needed."""
    return subprocess.Popen(
        [sys.executable, toy_module.__file__, *requirements],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(condition: Callable[[], bool], *, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def folders(root: Path) -> list[Path]:
    return [path for path in root.iterdir() if path.is_dir() and not path.name.startswith(".")]


@pytest.fixture
def children() -> Iterator[list[subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []
    yield started
    for child in started:
        child.kill()
        child.communicate()


@pytest.mark.usefixtures("toy")
def test_built_once_and_used_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIRTUALENV_SYSTEM_SITE_PACKAGES", "1")
    monkeypatch.setenv("PIP_USER", "1")
    news: list[str] = []
    environment = provide(report=news.append)
    assert news[0].startswith("Building toy-py")
    assert news[1:] == ["Processing toy-1.0", "Installing toy"]
    assert environment.managed
    assert environment.variables() == {"PYTHONNOUSERSITE": "1", "PYTHONPATH": ""}
    assert environment.packages == {"pip": environment.packages["pip"], "toy": "1.0"}
    assert environment.python.parent.parent.parent == root

    where = "import sys, importlib.util as u; print(sys.prefix, u.find_spec('toylib').origin)"
    prefix, origin = subprocess.check_output([environment.python, "-c", where], text=True).split()
    assert Path(prefix) == environment.python.parent.parent
    assert Path(origin).is_relative_to(prefix)

    news.clear()
    assert provide(report=news.append) == environment
    assert not news

    shutil.rmtree(environment.python.parent.parent)
    provide(report=news.append)
    assert re.search(r"; about \d+ s, as last time$", news[0])


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"pins": ["toy==99"]}, "No matching distribution found for toy==99"),
        ({"pins": ["toy=="]}, "Invalid requirement"),
        ({"pins": ["--help"]}, "Invalid requirement"),
        ({"imports": ["toylib", "more"]}, "do not provide more"),
    ],
)
@pytest.mark.usefixtures("toy")
def test_a_failure_leaves_its_log_only(root: Path, changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(EnvironmentUnavailable, match=reason) as caught:
        provide(**changes)
    assert caught.value.outcome == "failed"
    assert "\n" not in str(caught.value)
    assert folders(root) == []
    assert managed.entries() == []
    log = Path(str(caught.value).rpartition("All output: ")[2])
    assert log.parent == root
    assert log.read_text()


def test_no_index(root: Path) -> None:
    with pytest.raises(EnvironmentUnavailable, match=r"distribution found for toy==1\.0"):
        provide()
    assert folders(root) == []


@pytest.mark.usefixtures("toy")
def test_where_pip_finds_nothing_the_adapter_says_who_has_it() -> None:
    """The hint stands in the same line, before the other remedies."""
    with pytest.raises(EnvironmentUnavailable) as caught:
        find(parse("toy"), ToyAdapter(), accelerator="cuda", provision=True, report=print)
    said = "No matching distribution found for toy-cuda==1.0; Toy for cuda is in the toy shop. Fix"
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("toy")
def test_what_is_no_want_of_a_distribution_has_no_such_hint() -> None:
    with pytest.raises(EnvironmentUnavailable, match="do not provide more") as caught:
        provide(imports=["toylib", "more"])
    assert "toy shop" not in str(caught.value)


def test_nowhere_to_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("MBENCH_ENVIRONMENTS", str(tmp_path / "file" / "below"))
    with pytest.raises(EnvironmentUnavailable, match="Not a directory"):
        provide()


def test_ctrl_c_ends_pip_and_leaves_nothing(
    root: Path, links: Path, children: list[subprocess.Popen[str]]
) -> None:
    started, _ = gated(links)
    children.append(child := start("toy==1.0"))
    wait_for(lambda: started.exists() and started.read_text().endswith("\n"))
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=60)
    assert child.returncode == -signal.SIGINT, errors
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert folders(root) == []
    pids = [int(pid) for pid in started.read_text().split()]
    wait_for(lambda: gone(*pids))


def test_after_a_kill_the_next_build_cleans_up(
    root: Path, links: Path, children: list[subprocess.Popen[str]]
) -> None:
    started, gate = gated(links)
    children.append(child := start("toy==1.0"))
    wait_for(lambda: started.exists() and started.read_text().endswith("\n"))
    child.kill()
    child.communicate()
    if sys.platform == "linux":
        wait_for(lambda: gone(int(started.read_text().split()[1])))
    (leftover,) = managed.entries()
    assert leftover.broken

    gate.touch()
    environment = provide()
    assert [environment.python.parent.parent] == folders(root)
    assert managed.entries()[0].record is not None


def test_two_at_once_build_one(links: Path, children: list[subprocess.Popen[str]]) -> None:
    started, gate = gated(links)
    children += [start("toy==1.0"), start("toy==1.0")]
    wait_for(started.exists)
    time.sleep(0.5)
    gate.touch()
    first, second = sorted((child.communicate(timeout=60)[0] for child in children), key=len)
    assert first.startswith("waiting for another mbench to build toy-py")
    assert second.startswith("Building toy-py")
    assert first.splitlines()[-1] == second.splitlines()[-1] != "digest None"
    assert len(started.read_text().splitlines()) == 1


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize("loss", ["environment.json", "bin"])
def test_what_is_broken_is_built_anew(loss: str) -> None:
    environment = provide()
    lost = environment.python.parent.parent / loss
    lost.rename(lost.with_name("lost"))
    assert managed.entries()[0].broken
    again = provide()
    assert again.digest == environment.digest
    assert again.python.exists()


@pytest.mark.parametrize("variable", ["MBENCH_ENVIRONMENTS", "XDG_CACHE_HOME"])
def test_a_folder_that_is_not_the_users_is_answered_with_where_else(
    variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message also names no log, as none was written."""
    (tmp_path / "file").touch()
    monkeypatch.delenv("MBENCH_ENVIRONMENTS", raising=False)
    monkeypatch.setenv(variable, str(tmp_path / "file" / "below"))
    with pytest.raises(EnvironmentUnavailable) as caught:
        provide()
    assert "toy-py" in str(caught.value)
    assert "cannot write " in str(caught.value)
    assert "MBENCH_ENVIRONMENTS sets another folder" in str(caught.value)
    assert "XDG_CACHE_HOME" in str(caught.value)
    assert ".log" not in str(caught.value)
