"""Environments that are damaged, in use or somebody else's."""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from surroundings import QUICK, eventually

from mbench.environments import interpreters, managed
from mbench.environments.choice import running
from mbench.environments.environment import MANAGED_VARIABLES

if TYPE_CHECKING:
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
WHOLE = f'#!/bin/sh\nexec {sys.executable} "$@"\n'
GARBAGE = (
    f"#!{sys.executable}\nimport os, sys, time\n"
    "os.write(int(sys.argv[4]), b'segment not found\\n')\ntime.sleep(600)\n"
)


@functools.cache
def here() -> dict[str, str]:
    """What the Python of these tests has in a managed environment."""
    return interpreters.ask(Path(sys.executable), [], variables=MANAGED_VARIABLES).packages


def keep(around: Surroundings, **pythons: str) -> dict[str, Path]:
    """Managed environments of frameworks of these names, whose Python is the script given."""
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


def test_what_is_damaged_is_named_with_its_mend(around):
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
        mend = f"mbench env remove {folders[label].name} has it rebuilt"
        assert mend in reason
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
    assert "does not run as Python: it does not behave as a Python interpreter" in done.err
    assert "Traceback" not in done.err
