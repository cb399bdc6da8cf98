"""The description: light, complete, and in words that the command line can take."""

from __future__ import annotations

import importlib.util
import json
import platform
import re
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from mbench.contract.tier import DEFAULT, TUNED
from mbench.machine.helper import ask
from mbench.plugins.description import mistakes
from mbench.spec.arm import parse

if TYPE_CHECKING:
    from mbench.contract.adapter import Adapter
    from mbench.plugins.manager import Plugins

IMPORT_SECONDS = 0.2
IMPORTED = """
import importlib, json, sys, time
import numpy, mbench.contract.adapter, mbench.contract.case, mbench.plugins.hooks
begin = time.process_time()
importlib.import_module(sys.argv[1])
print(json.dumps([time.process_time() - begin, sorted(sys.modules)]))
"""


def test_nothing_is_wrong_with_the_plugin(adapter: Adapter, plugins: Plugins) -> None:
    top = type(adapter).__module__.partition(".")[0]
    problems = [str(problem) for problem in plugins.problems if top in problem.plugin]
    assert not problems


def test_imports_fast_and_without_the_framework(adapter: Adapter) -> None:
    found = []
    for _ in range(3):
        answer = ask(
            [sys.executable, "-c", IMPORTED, type(adapter).__module__],
            seconds=60,
        )  # fmt: skip
        found.append(json.loads(answer.output.splitlines()[-1]))
    seconds, modules = min(found)
    brought = {name.partition(".")[0] for name in adapter.imports} - {"numpy"}
    assert not brought & set(modules), "the description imports its framework: only workers may"
    assert seconds < IMPORT_SECONDS, "every command reads the description: import less, or later"


def test_name_is_one_that_the_command_line_takes(adapter: Adapter) -> None:
    spec = parse(adapter.name)
    assert (spec.name, spec.version, spec.python) == (adapter.name, None, None)
    assert adapter.title == adapter.title.strip() != ""


def test_runtime_is_there_without_being_imported(adapter: Adapter) -> None:
    module, colon, name = adapter.runtime.partition(":")
    assert colon, "runtime must have the form module:Class"
    assert name.isidentifier()
    found = importlib.util.find_spec(module.partition(".")[0])
    assert found is not None
    assert found.origin is not None, "a worker finds code by the file of its top-level package"


def test_words_are_spelled_as_mbench_spells_them(adapter: Adapter) -> None:
    """The words of `lacks`, and the class of the runtime."""
    assert not list(mistakes(adapter))


def test_compilers_have_names_and_a_line_each(adapter: Adapter) -> None:
    assert adapter.compilers, "list at least the framework's plain mode"
    for name, line in adapter.compilers.items():
        assert re.fullmatch(r"[a-z0-9][a-z0-9-]*", name), name
        assert name not in ("default", "best"), f"{name} is reserved"
        assert line.strip() == line != "", name
        assert "\n" not in line, name


def test_tiers_have_a_source_and_compilers_that_there_are(adapter: Adapter) -> None:
    for name, tier in adapter.tiers.items():
        assert name in (DEFAULT, TUNED), name
        assert tier.says.strip() or tier.executes, name
        assert set(tier.executes) <= set(adapter.compilers), name
        assert tier.source.strip(), f"{name}: where does the framework say so?"
        for device in adapter.devices:
            assert tier.order(device), name
            assert set(tier.order(device)) <= set(adapter.compilers), name


def test_variables_are_those_of_the_framework(adapter: Adapter) -> None:
    assert not isinstance(adapter.tuned_by, str), "give a sequence of prefixes, even for one"
    for prefix in adapter.tuned_by:
        whole = re.fullmatch(r"[A-Z][A-Z0-9_]*=", prefix)
        assert whole or re.fullmatch(r"[A-Z][A-Z0-9_]{3,}", prefix), f"{prefix!r} matches too much"


def test_requirements_can_be_installed(adapter: Adapter) -> None:
    for accelerator in adapter.devices:
        requirements = [Requirement(text) for text in adapter.requirements(None, accelerator)]
        assert requirements
        assert all(requirement.specifier for requirement in requirements), "pin them"


def test_a_version_that_is_asked_for_is_required_or_refused(adapter: Adapter) -> None:
    version = "987.6.5"
    with suppress(ValueError):
        assert any(f"=={version}" in text for text in adapter.requirements(version, "cpu"))


def test_python_is_a_specifier_that_a_released_python_meets(adapter: Adapter) -> None:
    specifier = SpecifierSet(adapter.python(None))
    released = [platform.python_version(), *(f"3.{minor}.0" for minor in range(7, 15))]
    assert any(specifier.contains(version) for version in released)


def test_environment_is_of_text(adapter: Adapter) -> None:
    for device in adapter.devices:
        variables = adapter.variables(threads=3, device=device)
        assert all(isinstance(part, str) for pair in variables.items() for part in pair)
