"""Workers can run on versions of Python that are too old for mbench itself."""

from __future__ import annotations

import ast
import subprocess
from dataclasses import dataclass as own
from dataclasses import field
from pathlib import Path

import pytest

import mbench
from mbench.contract import compat as ours
from mbench.contract.axes import Axes
from mbench.contract.case import Case
from mbench.environments.interpreters import satisfying
from mbench.worker import compat

OLDEST = (3, 7)
PACKAGES = ("contract", "scenarios", "sdk", "worker", "workloads")
HERE = Path(mbench.__file__).parent
READ = sorted(file for package in PACKAGES for file in (HERE / package).rglob("*.py"))
SCRIPTS = [HERE / "plugins" / "hooks.py"]


@pytest.mark.parametrize("file", [*READ, *SCRIPTS], ids=lambda file: file.name)
def test_what_workers_read_has_the_syntax_of_the_oldest(file):
    ast.parse(file.read_text(encoding="utf-8"), feature_version=OLDEST)


@compat.dataclass(frozen=True, kw_only=True)
class Base:
    given: int
    usual: int = 1
    many: list = field(default_factory=list)


@compat.dataclass(frozen=True, kw_only=True)
class Derived(Base):
    more: str
    given: int = 7


def test_fields_may_have_defaults_in_any_order():
    assert Derived(more="x") == Derived(more="x", usual=1, given=7, many=[])
    assert Base(given=2).many is not Base(given=2).many
    with pytest.raises(TypeError, match="Base lacks given"):
        Base()
    with pytest.raises(TypeError, match="Derived lacks more"):
        Derived(given=1)
    with pytest.raises(TypeError):
        Base(1)
    with pytest.raises(AttributeError):
        Base(given=1).given = 2


def test_plain_dataclasses_stay_as_they_are():
    @compat.dataclass(slots=True)
    class Plain:
        first: int
        second: int = 2

    assert Plain(1).second == 2
    assert own is not compat.dataclass


def test_without_types_data_is_taken_as_they_say(monkeypatch):
    from mbench.contract import reading, wire

    monkeypatch.setattr(reading, "CHECKS", False)
    case = Case(
        model="m", workload="a:B", mode="train", batch_size=2, precision="fp32", compiler="eager",
        device="cpu", threads=1, sizes={"image_size": 64},
    )  # fmt: skip
    for message in (wire.Prepare(case=case), wire.Start(runtime="a:B", device="cpu", threads=1)):
        assert wire.decode(wire.encode(message)) == message
    monkeypatch.setattr(ours, "CHECKS", False)
    assert ours.hints_of(Axes)["threads"] == "int"


@pytest.mark.parametrize("version", ["3.7", "3.8", "3.9"])
def test_an_older_python_is_measured_and_proven(version, tmp_path):
    """Tiny computes with NumPy, of which pip installs a version for that Python."""
    found = satisfying(f"=={version}.*")
    if not found:
        pytest.skip(f"this machine has no Python {version}")
    home = tmp_path / "home"
    subprocess.run([found[0].path, "-m", "venv", home], check=True)
    python = home / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "numpy"]
    subprocess.run(install, check=True)
    result = mbench.run(
        f"tiny@{python}", models="tiny-model", mode="train,inference", threads=1, processes=1,
        rounds=2, block=0.02, mfu=False, quiet=True,
    )  # fmt: skip
    assert result.ok, result
    for case in result.document["cases"]:
        assert case["environment"]["python_version"].startswith(version)
        assert case["environment"]["packages"]["numpy"] == case["version"]
        assert case["equal_work"]["proven"]
