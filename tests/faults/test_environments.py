"""Environments that are damaged, in use or somebody else's."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import os
import shutil
import sys
import venv
from pathlib import Path
from typing import TYPE_CHECKING

import mbench_tiny
import numpy
import pytest
from surroundings import QUICK, eventually

from mbench.environments import contents, interpreters, managed
from mbench.environments.choice import running
from mbench.environments.environment import MANAGED_VARIABLES

if TYPE_CHECKING:
    from collections.abc import Callable

    from surroundings import Surroundings

FRAMEWORK = """
from mbench.plugins.hooks import hookimpl
from mbench_rogue import Rogue
class Kept(Rogue):
    imports = ("no_such_module",)
    def __init__(self, name):
        super().__init__(name)
        self.name = name
    def requirements(self, *_):
        return [f"{self.name}==1.0"]
@hookimpl
def mbench_adapters():
    return [Kept(name) for name in {names!r}]
"""
REAL = """
from mbench.plugins.hooks import hookimpl
from mbench_rogue import Rogue
class Real(Rogue):
    name = "real"
    title = "Real"
    imports = ("no_such_module",)
    def __init__(self):
        self.fault = "none"
    def requirements(self, *_):
        return ["real==1.0"]
@hookimpl
def mbench_adapters():
    return [Real()]
"""
WHOLE = f'#!/bin/sh\nexec {sys.executable} "$@"\n'
GARBAGE = (
    f"#!{sys.executable}\nimport os, sys, time\n"
    "os.write(int(sys.argv[4]), b'segment not found\\n')\ntime.sleep(600)\n"
)


@functools.cache
def here() -> dict[str, str]:
    """The packages that the Python of these tests has in a managed environment."""
    return interpreters.ask(Path(sys.executable), [], variables=MANAGED_VARIABLES).packages


def keep(around: Surroundings, **pythons: str) -> dict[str, Path]:
    """Create managed environments of frameworks of these names; each one's Python is a script."""
    around.install("plugin_kept", FRAMEWORK.replace("{names!r}", repr(tuple(pythons))))
    folders = {}
    for name, script in pythons.items():
        pins = [f"{name}==1.0"]
        key = managed.key(name, requirements=pins, python=running())
        folder = around.folder / "environments" / key
        (folder / "bin").mkdir(parents=True)
        managed.python_in(folder).write_text(script)
        managed.python_in(folder).chmod(0o755)
        about = managed.Record(
            adapter=name, requirements=pins, python=f"{running()}.0", packages=here(),
            created="2026-01-01T00:00:00+00:00", mbench="1.0",
        )  # fmt: skip
        managed.write_record(about, folder=folder)
        folders[name] = folder
    return folders


def real(around: Surroundings) -> tuple[Path, managed.Record]:
    """A managed environment with its own Python, NumPy of these tests, and a distribution: its
    folder of packages, and its record.
    """
    around.install("plugin_real", REAL)
    pins = ["real==1.0"]
    folder = around.folder / "environments" / managed.key("real", requirements=pins,
                                                          python=running())  # fmt: skip
    venv.create(folder, symlinks=True)
    site = folder / "lib" / f"python{running()}" / "site-packages"
    homes = Path(numpy.__file__).parents[1], Path(mbench_tiny.__file__).parent
    (site / "base.pth").write_text("".join(f"{home}\n" for home in homes))
    toy(site, "1.0")
    asked = interpreters.ask(managed.python_in(folder), [], variables=MANAGED_VARIABLES)
    record = managed.Record(
        adapter="real", requirements=pins, python=asked.python, packages=asked.packages,
        created="2026-01-01T00:00:00+00:00", mbench="1.0",
    )  # fmt: skip
    managed.write_record(record, folder=folder)
    return site, record


def toy(site: Path, version: str, text: str = "one = 1\n") -> None:
    """Install a distribution as pip does, with the hash and size of its file."""
    (site / "toy.py").write_text(text)
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
    for old in site.glob("toy-*.dist-info"):
        shutil.rmtree(old)
    about = site / f"toy-{version}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: toy\nVersion: {version}\n")
    (about / "RECORD").write_text(f"toy.py,sha256={digest},{len(text)}\n")


def edited(site: Path) -> None:
    (site / "toy.py").write_text("one = 2\n")


def add(site: Path) -> None:
    about = site / "another-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Name: another\nVersion: 1.0\n")


def later(site: Path) -> None:
    """Date all changes since the environment was built a minute after it."""
    built = (site.parents[2] / "environment.json").stat().st_mtime
    for path in site.rglob("toy*"):
        if path.is_file() and path.stat().st_mtime > built - 5:
            os.utime(path, (built + 60, built + 60))


CHANGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "upgraded": (lambda site: toy(site, "2.0"), "toy is 2.0 instead of 1.0"),
    "replaced": (lambda site: toy(site, "1.0", "one = 3\n"), "it was reinstalled later"),
    "edited": (edited, "toy.py was changed"),
    "gone": (lambda site: (site / "toy.py").unlink(), "toy.py is gone"),
    "removed": (lambda site: shutil.rmtree(site / "toy-1.0.dist-info"), "toy 1.0 was removed"),
    "metadata": (
        lambda site: (site / "toy-1.0.dist-info" / "METADATA").write_text(
            "Name: toy\nVersion: 3\n"
        ),
        "toy is 3",
    ),
    "added": (add, "another 1.0 was added"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_changed_by_hand_is_named(around, change):
    site, record = real(around)
    assert contents.difference(site.parents[2], record) == ""
    make, said = CHANGES[change]
    make(site)
    if change in ("replaced", "edited"):
        later(site)
    assert said in contents.difference(site.parents[2], record)


def test_a_file_that_is_newer_and_the_same_was_not_changed(around):
    """A copy that did not keep times has such files."""
    site, record = real(around)
    built = (site.parents[2] / "environment.json").stat().st_mtime
    os.utime(site / "toy.py", (built + 60, built + 60))
    assert contents.difference(site.parents[2], record) == ""


def test_bytecode_that_a_wheel_brings_is_compiled_again_and_was_not_changed(around):
    """The wheel of NumPy 2.2.6 lists bytecode of one file, which pip then overwrites."""
    site, record = real(around)
    cached = "__pycache__/toy.cpython-311.pyc"
    with (site / "toy-1.0.dist-info" / "RECORD").open("a") as file:
        file.write(
            f"{cached},sha256=Q0aczcvX7R3vOm37qftp048v0iWMwhqP1Hl86JBEWFE,14203\n{cached},,\n"
        )
    (site / "__pycache__").mkdir(exist_ok=True)
    (site / cached).write_bytes(b"compiled here")
    built = (site.parents[2] / "environment.json").stat().st_mtime
    os.utime(site / "toy-1.0.dist-info" / "RECORD", (built - 5, built - 5))
    assert contents.difference(site.parents[2], record) == ""


def test_an_environment_that_was_changed_by_hand_is_not_measured(around):
    """Row 5. Its proofs are not recalled, either: it is refused before they are looked for."""
    site, _ = real(around)
    whole = around.compare("real", "tiny")
    assert (whole.code, whole.ends) == (0, {})
    (environment,) = [e for e in whole.events if e["event"] == "environment" and e["managed"]]
    assert environment["packages"]["toy"] == "1.0"
    assert environment["digests"]["toy"]
    shutil.rmtree(around.results)
    edited(site)
    later(site)
    done = around.compare("real", "tiny")
    assert done.code == 1
    ((label, (outcome, reason)),) = done.ends.items()
    assert (label, outcome) == ("real", "failed")
    assert "was changed after it was built" in reason
    assert f"mbench env remove {site.parents[2].name} to have it rebuilt" in reason


def test_what_is_damaged_is_named_with_its_remedy(around):
    folders = keep(
        around, none=WHOLE, lacks_a_library=WHOLE, babbles=GARBAGE,
        quits="#!/bin/sh\necho libpython3.so: no such file >&2\nexit 3\n",
        gone="#!/no/such/interpreter\n",
    )  # fmt: skip
    done = around.compare(*folders)
    assert done.code == 1
    assert {label: end[0] for label, end in done.ends.items()} == {
        "lacks_a_library": "failed", "babbles": "failed", "quits": "crashed", "gone": "failed",
    }  # fmt: skip
    for label, (_, reason) in done.ends.items():
        remedy = f"mbench env remove {folders[label].name} to have it rebuilt"
        assert remedy in reason
    assert "libpython3.so: no such file" in done.ends["quits"][1]


@pytest.mark.parametrize(
    ("options", "told"),
    [((), "numpy==9.9"), (("--no-provision",), "mbench env create tiny==9.9")],
)
def test_what_cannot_be_built_ends_its_own_case_only(around, options, told):
    done = around.compare("tiny", "tiny==9.9", options=options, PIP_NO_INDEX="1", PIP_FIND_LINKS="")
    assert (done.code, list(done.ends)) == (1, ["tiny==9.9"])
    outcome, reason = done.ends["tiny==9.9"]
    assert (outcome, told in reason, "Traceback" in done.err) == ("failed", True, False)
    assert not [path for path in around.folder.glob("environments/*") if path.is_dir()]


def test_what_is_used_is_not_removed(around):
    (folder,) = keep(around, wait_for_the_test=WHOLE).values()
    go = around.folder / "go"
    process = around.start(
        "run", "wait_for_the_test", *QUICK, TEST_GO=str(go),
    )  # fmt: skip
    eventually(go.with_suffix(".waiting").exists, "waiting")
    refused = around.mbench("env", "remove", folder.name)
    assert refused.code == 1
    assert f"{folder.name} is in use" in refused.err
    go.touch()
    assert around.finish(process).code == 0
    assert around.mbench("env", "remove", folder.name).code == 0
    assert not folder.exists()


def test_of_a_link_only_the_link_is_removed(around):
    (folder,) = keep(around, none=WHOLE).values()
    elsewhere = around.folder / "elsewhere"
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)
    assert around.compare("none", "tiny").code == 0
    assert around.mbench("env", "remove", folder.name).code == 0
    assert not folder.is_symlink()
    assert (elsewhere / "environment.json").exists()
    assert managed.python_in(elsewhere).exists()


DEEP = "[" * 100_000


@pytest.fixture
def signed() -> str:
    """A record of wrong types that matches its digest."""
    wrong = managed.Record(
        adapter="none",
        requirements=["none==1.0"],
        python="3.11.0",
        packages=5,
        created="",
        mbench="",
    )
    return json.dumps({"schema": 1, "digest": wrong.digest, **vars(wrong)})


def test_records_that_cannot_be_read_are_broken_and_no_more(around, signed):
    folders = keep(around, none=WHOLE, kill=WHOLE, exit=WHOLE)
    texts = dict(zip(folders, (DEEP, signed, "\ud83d"), strict=True))
    for name, folder in folders.items():
        (folder / "environment.json").write_text(texts[name], errors="surrogatepass")
    (around.folder / "environments" / "notes-py3.11-0123456789ab").write_text("a file")
    done = around.mbench("env", "list")
    assert done.code == 0
    assert done.out.count("broken: environment.json is not readable") == 3


@pytest.mark.parametrize("name", ["../victim", "/tmp", "a/../b"])
def test_only_what_is_listed_is_removed(around, name):
    (around.folder / "victim").mkdir()
    keep(around, none=WHOLE)
    done = around.mbench("env", "remove", name)
    assert done.code == 2
    assert "no environment is named" in done.err
    assert (around.folder / "victim").exists()


def test_a_program_that_floods_is_no_python(around):
    flood = around.folder / "flood"
    flood.write_text("#!/bin/sh\nexec yes\n")
    flood.chmod(0o755)
    done = around.compare("tiny", f"tiny@{flood}")
    assert done.code != 0
    assert "does not run as Python: flood printed more than 16 MiB" in done.err
    assert "Traceback" not in done.err
