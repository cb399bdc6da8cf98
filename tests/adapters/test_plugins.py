"""What holds for the descriptions of all adapters alike."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import requires

import pytest
from packaging.requirements import Requirement

from mbench.contract.adapter import Adapter
from mbench.contract.case import Case
from mbench.plugins import Plugins

ADAPTERS = Plugins(external=False).adapters.unique()


def test_the_four_frameworks_are_there_and_nothing_is_wrong_with_them():
    plugins = Plugins(external=False)
    assert sorted(plugins.adapters.unique()) == ["mxnet", "paddle", "tf", "torch"]
    assert plugins.problems == []


@pytest.mark.parametrize("name", ADAPTERS)
def test_an_extra_is_what_the_adapter_requires(name):
    extra = set()
    for text in requires("mbench-dl") or []:
        requirement = Requirement(text)
        if requirement.marker and requirement.marker.evaluate(
            {"extra": name, "python_version": "3.11"}  # which all of them run on
        ):
            requirement.marker = None
            extra.add(str(requirement))
    assert extra == {str(Requirement(text)) for text in ADAPTERS[name].requirements(None, "cpu")}


@pytest.mark.parametrize("name", ADAPTERS)
def test_a_description_is_complete(name):
    adapter = ADAPTERS[name]
    assert isinstance(adapter, Adapter)
    assert adapter.name == name
    assert "eager" in adapter.compilers
    for version in (None, "9.9"):
        assert adapter.python(version).startswith(">=3.")


def test_what_a_listing_needs_imports_no_framework_and_no_numpy():
    code = (
        "import sys; from mbench.plugins import Plugins; p = Plugins(external=False);"
        "from mbench.harness.selection import load_workload;"
        "[a.environment(threads=1, device='cpu') for a in p.adapters.unique().values()];"
        "[load_workload(w, n).parameter_count() for n, w in p.workloads.unique().items()];"
        "print(sorted({m.partition('.')[0] for m in sys.modules}))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    loaded = set(answer.stdout.replace("'", "").strip("[]\n").split(", "))
    assert not loaded & {"torch", "tensorflow", "keras", "mxnet", "paddle", "numpy"}


@pytest.mark.parametrize("name", ADAPTERS)
@pytest.mark.parametrize("mode", ["train", "inference"])
def test_every_adapter_says_that_it_has_the_whole_zoo(name, mode):
    adapter = ADAPTERS[name]
    for model, workload in Plugins(external=False).workloads.unique().items():
        case = Case(
            model=model,
            workload=workload,
            mode=mode,
            batch_size=1,
            precision="fp32",
            compiler=next(iter(adapter.compilers)),
            device="cpu",
            threads=1,
        )
        assert adapter.supports(case).supported, model
