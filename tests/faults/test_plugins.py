"""Plugins that exit, raise or answer wrongly: each is named, and harms no other."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from surroundings import Surroundings

if TYPE_CHECKING:
    from surroundings import Done

HEAD = """
from mbench.plugins.hooks import hookimpl
from mbench_rogue import Rogue
"""
FRAMEWORK = """
class Broken(Rogue):
    def __init__(self):
        super().__init__("none")
        self.name = {name!r}
    {body}

@hookimpl
def mbench_adapters():
    return [Broken()]
"""
AT_WORK = {
    "supports_exits": ("def supports(self, case): raise SystemExit(0)", "SystemExit: 0"),
    "supports_divides": ("def supports(self, case): return 1 / 0", "ZeroDivisionError"),
    "supports_so": ("def supports(self, case): return True", "TypeError: True is not a Support"),
    "python_none": ("def python(self, version): return None", "None is not a single line"),
    "python_odd": ("def python(self, version): return 'new'", "InvalidSpecifier"),
    "variables_own": (
        "def variables(self, **_): raise type('Enough', (BaseException,), {})('it is')",
        "Enough: it is",
    ),
    "variables_close": ("def variables(self, **_): raise GeneratorExit", "GeneratorExit"),
    "variables_ints": ("def variables(self, **_): return {'A': 1}", "1 is not a single line"),
    "variables_nul": ("def variables(self, **_): return {'A': chr(0)}", "not a single line"),
    "variables_name": (
        "def variables(self, **_): return {'A=B': ''}",
        "'A=B' is not a valid variable name",
    ),
    "needs_raise": (
        "imports = ('no_such_module',)\n    def requirements(self, *_): raise KeyError('torch')",
        "KeyError: 'torch'",
    ),
    "needs_text": (
        "imports = ('no_such_module',)\n    def requirements(self, *_): return 'numpy'",
        "is a single string, not several",
    ),
    "needs_option": (
        "imports = ('no_such_module',)\n    def requirements(self, *_): return ['-r/etc/passwd']",
        "'-r/etc/passwd' is not a requirement",
    ),
    "runtime_gone": (
        "runtime = 'no_such_module:Runtime'",
        "'no_such_module', which is not installed",
    ),
    "runtime_less": ("runtime = 'mbench_rogue:Nothing'", "has no attribute 'Nothing'"),
}
"""Frameworks that fail once they are used: what they do, and what is reported of it."""
AT_ONCE = {
    "exits": ("@hookimpl\ndef mbench_adapters(): raise SystemExit(0)", "mbench_adapters raised"),
    "own": (
        "@hookimpl\ndef mbench_adapters(): raise type('Enough', (BaseException,), {})('it is')",
        "mbench_adapters raised Enough: it is",
    ),
    "closes": ("raise GeneratorExit", "does not load: GeneratorExit"),
    "escapes": ("raise ValueError('\\x1b[2Jgone')", "does not load: ValueError: ?[2Jgone"),
    "late": (
        "@hookimpl\ndef mbench_commands():\n    yield 7\n",
        "mbench_commands returned an invalid value: AttributeError",
    ),
    "imports": (FRAMEWORK.format(name="a", body="imports = None"), "Broken.imports: "),
    "compilers": (
        FRAMEWORK.format(name="b", body="compilers = {}"),
        "Broken.compilers: must not be empty",
    ),
    "runtime": (FRAMEWORK.format(name="c", body="runtime = 7"), "Broken.runtime: 7 is not"),
    "titles": (FRAMEWORK.format(name="d", body="tuned_by = 'OMP_'"), "a single string, not"),
    "path": (FRAMEWORK.format(name="../../evil", body=""), "'../../evil' is not a valid name"),
    "escape": (
        FRAMEWORK.format(name="\x1b]0;evil\x07", body=""),
        r"'\x1b]0;evil\x07' is not a valid name",
    ),
    "letters": (
        FRAMEWORK.format(name="tоrch", body=""),  # noqa: RUF001
        "'tоrch' is not a valid name",  # noqa: RUF001
    ),
    "report": ("@hookimpl\ndef mbench_reports(): return {'x': 7}", "'x' is not a function"),
}
"""Plugins that fail when they are asked what they offer: their code, and what is reported of it."""


@pytest.fixture(scope="module")
def around(tmp_path_factory: pytest.TempPathFactory) -> Surroundings:
    """All these plugins installed side by side, with two that can be loaded."""
    around = Surroundings(tmp_path_factory.mktemp("plugins"))
    for name, (body, _) in AT_WORK.items():
        around.install(f"plugin_{name}", HEAD + FRAMEWORK.format(name=name, body=body))
    for name, (code, _) in AT_ONCE.items():
        around.install(f"plugin_{name}", HEAD + code)
    around.install("plugin_talks", "print('Welcome to my plugin!')\n")
    around.install(
        "plugin_reports",
        HEAD
        + "import sys\n@hookimpl\ndef mbench_reports(): return {'leave': lambda _: sys.exit()}",
    )
    return around


@pytest.fixture(scope="module")
def compared(around: Surroundings) -> Done:
    return around.compare("tiny", *AT_WORK, options=("--format", "json"))


@pytest.mark.parametrize("name", AT_WORK)
def test_a_framework_whose_plugin_falls_short_ends_by_name(compared, name):
    outcome, reason = compared.ends[name]
    assert outcome == "failed"
    assert AT_WORK[name][1] in reason
    if not name.startswith("runtime"):
        assert f"plugin plugin_{name} (plugin_{name}) {name}'s " in reason


def test_the_others_are_measured_and_stdout_is_the_report_alone(compared):
    assert compared.code == 1
    assert "Traceback" not in compared.err
    assert set(compared.ends) == set(AT_WORK)
    assert json.loads(compared.out)["comparisons"]


@pytest.fixture(scope="module")
def listed(around: Surroundings) -> Done:
    return around.mbench("list")


@pytest.mark.parametrize("name", AT_ONCE)
def test_a_plugin_that_offers_nonsense_is_listed_as_a_problem(listed, name):
    plugin = f"problem: plugin plugin_{name} (plugin_{name}) "
    (line,) = [line for line in listed.err.splitlines() if plugin in line]
    assert AT_ONCE[name][1] in line


def test_the_list_goes_on(listed):
    assert listed.code == 0
    assert "\x1b" not in listed.out + listed.err
    assert "Tiny" in listed.out
    said = " ".join(listed.out.split())
    assert "plugin plugin_python_none (plugin_python_none) python_none's python()" in said
    assert listed.err.count("problem:") == len(AT_ONCE)


def test_an_unknown_name_may_be_a_broken_plugins(around):
    done = around.mbench("run", "path", "--models", "tiny-model")
    assert done.code == 2
    assert "plugin_" in done.err
    assert "mbench list shows every problem" in done.err


def test_a_hostile_library_is_named_where_a_framework_is_missed(around):
    folder = around.folder / "hostile"
    folder.mkdir()
    (folder / "numpy.py").write_text("raise SystemExit(0)")
    path = f"{folder}:{around.variables['PYTHONPATH']}"
    started = around.start("run", "tiny", "--models", "tiny-model", PYTHONPATH=path)
    done = around.finish(started)  # a new process, where NumPy is not imported yet
    assert done.code == 2
    assert "unknown framework" in done.err
    assert "does not load: SystemExit: 0" in done.err


def test_a_report_that_leaves_loses_nothing(around, compared):
    done = around.mbench("show", "--format", "leave")
    assert done.code == 1
    assert "mbench: plugin plugin_reports (plugin_reports) 'leave' raised SystemExit" in done.err
    assert around.mbench("show").code == 0
