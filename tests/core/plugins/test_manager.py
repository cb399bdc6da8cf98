"""Plugins from fake distributions: a problem of one is reported as its own and harms no other."""

from __future__ import annotations

import itertools
import sys
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner
from support.experiments import asked

from mbench.cli.main import group
from mbench.errors import MbenchError, UsageError
from mbench.plugins.manager import DISABLE_EXTERNAL, Plugins, nearest
from mbench.spec.planning import plan

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NUMBERS = itertools.count()
HEAD = "from mbench.plugins.hooks import hookimpl\nfrom mbench_tiny import Tiny\n"
GOOD = """
class Mine(Tiny):
    name, title = "mine", "Mine"
@hookimpl
def mbench_adapters():
    return [Mine()]
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Installs a distribution with a plugin of the given code; returns the plugin's name."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def install(code: str | None, *, distribution: str = "stranger") -> str:
        module = f"plugin_{next(NUMBERS)}"
        info = tmp_path / f"{distribution.replace('-', '_')}_{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1\n")
        (info / "entry_points.txt").write_text(f"[mbench]\n{module} = {module}\n")
        if code is not None:
            (tmp_path / f"{module}.py").write_text(HEAD + code)
        return f"{module} ({distribution})"

    return install


def test_a_framework_has_other_names_where_its_adapter_says_so(install, tmp_path) -> None:
    install(GOOD)
    (tmp_path / "framework.toml").write_text('aliases = ["ours", "tiny"]')
    plugins = Plugins()
    assert plugins.adapter("ours") is plugins.adapter("mine")
    assert plugins.adapter("tiny").title == "Tiny", "a framework's own name is no other's"
    with pytest.raises(UsageError, match="unknown framework 'our'"):
        plugins.adapter("our")
    (comparison,) = plan(asked(frameworks=("ours==2.4.6", "mine"),
                               wanted={"model": ("tiny-model",)}), plugins)  # fmt: skip
    assert [entry.label for entry in comparison.entries] == ["mine==2.4.6", "mine"]
    assert {entry.spec.name for entry in comparison.entries} == {"mine"}


def test_a_leaflet_that_is_none_is_said_of_its_framework(install, tmp_path) -> None:
    install(GOOD)
    (tmp_path / "framework.toml").write_text("aliases = 3")
    plugins = Plugins()
    assert plugins.adapter("mine").title == "Mine"
    assert plugins.aliases.get("pytorch") == "torch"
    assert "aliases should be a list of names" in problems(plugins)["mine"]


def problems(plugins: Plugins) -> dict[str, str]:
    """The problem reported for each plugin, after asking for everything that plugins offer."""
    for offers in (plugins.adapters, plugins.workloads, plugins.reports, plugins.launchers,
                   plugins.commands):  # fmt: skip
        assert offers is not None
    return {problem.plugin: problem.message for problem in plugins.problems}


def test_a_plugin_adds_what_it_offers(install):
    install(GOOD)
    plugins = Plugins()
    assert plugins.adapter("mine").title == "Mine"
    assert plugins.adapter("tiny").title == "Tiny"
    assert problems(plugins) == {}


BROKEN = [
    ("raise RuntimeError('line one\\nline two')", "does not load: RuntimeError: line one line two"),
    ("import no_such_module_at_all", "does not load: ModuleNotFoundError"),
    ("def (", "does not load: SyntaxError"),
    (None, "does not load: ModuleNotFoundError"),
    ("import sys; sys.exit('bye')", "does not load: SystemExit: bye"),
    (
        "@hookimpl\ndef mbench_adaptors():\n    return []",
        "implements 'mbench_adaptors', which is not a hook; did you mean mbench_adapters",
    ),
    ("@hookimpl\ndef mbench_adapters(nothing):\n    return []", "does not load: PluginValidation"),
    (
        "@hookimpl\ndef mbench_adapters():\n    raise OSError('no')",
        "mbench_adapters raised OSError: no",
    ),
    (
        "@hookimpl\ndef mbench_adapters():\n    pass",
        "mbench_adapters returned an invalid value: TypeError",
    ),
    (
        "@hookimpl\ndef mbench_workloads():\n    return ['a']",
        "mbench_workloads returned an invalid value",
    ),
    ("@hookimpl\ndef mbench_reports():\n    return 7", "mbench_reports returned an invalid value"),
    (
        "@hookimpl\ndef mbench_commands():\n    return ['x']",
        "mbench_commands returned an invalid value",
    ),
    (
        "@hookimpl\ndef mbench_launchers():\n    return 7",
        "mbench_launchers returned an invalid value",
    ),
    (
        "@hookimpl\ndef mbench_workloads():\n    return {1: 'a:B'}",
        "mbench_workloads returned an invalid value: TypeError: 1 is not a valid name",
    ),
    (
        "class Less:\n    name = 'less'\n    title = 'Less'\n"
        "@hookimpl\ndef mbench_adapters():\n    return [Less()]",
        "mbench_adapters returned an invalid value: TypeError: Less lacks compilers, "
        "imports, requirements, runtime",
    ),
    (
        "class Nameless(Tiny):\n    name = None\n"
        "@hookimpl\ndef mbench_adapters():\n    return [Nameless()]",
        "mbench_adapters returned an invalid value: TypeError: Nameless.name: None is not a valid "
        "name",
    ),
]


BARE = """
class Bare:
    name, title, imports, runtime = "bare", "Bare", ("numpy",), "bare:Runtime"
    compilers = {"eager": "one by one"}
    def requirements(self, version, accelerator):
        return ["numpy==2.0"]
    def supports(self, case):
        return None
@hookimpl
def mbench_adapters():
    return [Bare()]
"""


def test_an_adapter_without_the_base_gets_the_defaults_of_what_it_lacks(install):
    install(BARE)
    plugins = Plugins()
    bare = plugins.adapter("bare")
    assert problems(plugins) == {}
    assert (bare.tuned_by, bare.models, bare.mixed("cuda")) == ((), "", "amp-fp16")
    assert bare.variables(threads=2, device="cpu") == {}


@pytest.mark.parametrize(("number", "outdated"), [(0, "the plugin"), (2, "mbench")])
def test_an_adapter_for_another_contract_is_named_with_what_to_upgrade(install, number, outdated):
    code = GOOD.replace("[Mine()]", "[Old(), Mine()]")
    old = f"class Old(Tiny):\n    name, contract = 'old', {number}\n"
    plugin = install(old + code)
    plugins = Plugins()
    assert problems(plugins) == {
        plugin: f"old is written for version {number} of the adapter contract, but this mbench "
        f"has version 1: upgrade {outdated}"
    }
    assert plugins.adapter("mine")
    with pytest.raises(UsageError, match="unknown framework 'old'"):
        plugins.adapter("old")


@pytest.mark.parametrize(("code", "said"), BROKEN)
def test_a_broken_plugin_is_named_and_harms_no_other(install, code, said):
    broken, good = install(code), install(GOOD, distribution="good")
    plugins = Plugins()
    found = problems(plugins)
    assert set(found) == {broken}
    assert found[broken].startswith(said)
    assert good not in found
    assert plugins.adapter("mine")
    assert plugins.adapter("tiny")
    assert {"table", "json", "csv", "markdown"} <= set(plugins.reports.unique())
    assert "resnet50" in plugins.workloads.unique()


@pytest.mark.parametrize(("code", "said"), BROKEN)
def test_every_problem_is_listed_and_listing_succeeds(install, code, said):
    broken = install(code)
    install(GOOD, distribution="good")
    done = CliRunner().invoke(group, ["list"])
    assert done.exit_code == 0
    assert f"problem: plugin {broken} {said}" in done.stderr
    assert done.stderr.count("problem:") == 1
    assert "mine" in done.stdout


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("no_such_module:X", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("mbench_tiny:X", "AttributeError: module 'mbench_tiny' has no attribute 'X'"),
        ("mbench_tiny:CLASSES", "TypeError: CLASSES is not a workload"),
        (7, "AttributeError"),
    ],
)
def test_a_workload_that_does_not_load_harms_no_other(install, reference, said):
    install(f"@hookimpl\ndef mbench_workloads():\n    return {{'bad': {reference!r}}}")
    runner = CliRunner()
    listed = runner.invoke(group, ["list", "models"])
    assert listed.exit_code == 0
    assert f"the workload {reference!r} does not load: {said}" in listed.stdout
    assert "resnet50" in listed.stdout
    with pytest.raises(MbenchError, match="does not load"):
        plan(asked(frameworks=("tiny",), wanted={"model": ("bad",)}), Plugins())
    assert plan(asked(frameworks=("tiny",), wanted={"model": ("tiny-model",)}), Plugins())


def test_a_workload_whose_proof_has_a_size_that_it_lacks_does_not_load(install):
    code = """
import dataclasses, mbench_tiny
SMALL = dataclasses.replace(mbench_tiny.TINY, name="small", proof={"sizes": {"depth": 3}})
@hookimpl
def mbench_workloads():
    return {"small": f"{__name__}:SMALL"}
"""
    install(code)
    with pytest.raises(MbenchError, match="does not load: ValueError: small has no size depth"):
        plan(asked(frameworks=("tiny",), wanted={"model": ("small",)}), Plugins())


def test_two_plugins_that_claim_one_name_are_both_named_and_neither_is_used(install):
    one, other = install(GOOD), install(GOOD, distribution="rival")
    plugins = Plugins()
    assert "mine" not in plugins.adapters.unique()
    with pytest.raises(UsageError) as caught:
        plugins.adapter("mine")
    assert one in str(caught.value)
    assert other in str(caught.value)
    found = problems(plugins)
    assert set(found) == {one, other}
    assert all(one in message and other in message for message in found.values())
    assert plugins.adapter("tiny")


@pytest.mark.parametrize(
    ("hook", "value", "kind", "name"),
    [
        ("mbench_workloads", "{'resnet50': 'a:B'}", "workloads", "resnet50"),
        ("mbench_reports", "{'table': str}", "reports", "table"),
    ],
)
def test_not_even_our_own_names_may_be_taken(install, hook, value, kind, name):
    thief = install(f"@hookimpl\ndef {hook}():\n    return {value}")
    with pytest.raises(UsageError, match="mbench_builtin") as caught:
        getattr(Plugins(), kind).get(name)
    assert thief in str(caught.value)


def test_strangers_can_be_switched_off(install, monkeypatch):
    install("raise RuntimeError")
    install(GOOD, distribution="good")
    by_argument = Plugins(external=False)
    monkeypatch.setenv(DISABLE_EXTERNAL, "1")
    for plugins in (by_argument, Plugins()):
        assert problems(plugins) == {}
        assert "mine" not in plugins.adapters.unique()
        assert "tiny" not in plugins.adapters.unique()
        assert "resnet50" in plugins.workloads.unique()


def test_strangers_can_be_switched_off_on_the_command_line(install):
    install("raise RuntimeError")
    for arguments, found in ((["list"], True), (["--no-external-plugins", "list"], False),
                             (["list", "--no-external-plugins"], False)):  # fmt: skip
        done = CliRunner().invoke(group, arguments)
        assert done.exit_code == 0
        assert ("problem:" in done.stderr) is found
        assert ("Tiny" in done.stdout) is found


def test_a_plugin_that_is_listed_twice_is_loaded_once(install):
    """An editable install may be listed twice."""
    module = install(GOOD).split()[0]
    twice = [EntryPoint(module, module, "mbench")] * 2
    plugins = Plugins(external=True, entries=twice)
    assert problems(plugins) == {}
    assert plugins.adapter("mine")


def test_a_plugin_adds_a_command_and_a_report(install):
    install(
        "import click\n@click.command('greet')\ndef greet():\n    click.echo('hello')\n"
        "@hookimpl\ndef mbench_commands():\n    return [greet]\n"
        "@hookimpl\ndef mbench_reports():\n    return {'haiku': lambda summary: 'five\\n'}\n"
    )
    plugins = Plugins()
    assert plugins.report("haiku")({}) == "five\n"
    assert isinstance(plugins.commands.get("greet"), click.Command)
    done = CliRunner().invoke(group, ["greet"])
    assert done.stdout == "hello\n"


@pytest.mark.parametrize(
    ("name", "known", "tail"),
    [
        ("resnet5", ["resnet50", "bert-base"], "; did you mean resnet50?"),
        ("bat", ["bar", "baz", "far"], "; did you mean baz or bar?"),
        ("zzz", ["b", "a"], "; available: a, b"),
        ("zzz", [], "; none are available"),
    ],
)
def test_nearest(name, known, tail):
    assert nearest(name, known) == tail
