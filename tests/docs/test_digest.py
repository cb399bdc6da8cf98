"""The digest of a proof's code changes with what is computed, and with nothing else."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "digest.py"
SOURCE = '''
"""A layer."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from one.layers import normed

if TYPE_CHECKING:
    from one.types import Array

__all__ = ["layer"]

DIFFERENCES = ["the momentum is written the other way round"]


def layer(x: Array, width: int = 3) -> Array:
    """Rectified."""
    if width < 1:
        raise ValueError(f"a width of {width}")
    return max(normed(x, width), 0.0)  # not below 0
'''


@pytest.fixture(scope="module")
def digest():
    spec = importlib.util.spec_from_file_location("digest", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("# not below 0", "", True),
        ("Rectified.", "The larger one of it and nothing.", True),
        ("from one.layers import", "from one.parts.layers import", True),
        ("x: Array", "x: Sequence[float]", True),
        (" -> Array", "", True),
        ('["layer"]', '["DIFFERENCES", "layer"]', True),
        ("the other way round", "inversely", True),
        ("a width of {width}", "the width is {width}, and has to be 1 or more", True),
        ("0.0)", "0.1)", False),
        ("width < 1", "width < 2", False),
        ("= 3", "= 4", False),
        ("max(", "min(", False),
    ],
)
def test_only_what_is_executed_counts(digest, tmp_path, old, new, same):
    before, after = tmp_path / "before.py", tmp_path / "after.py"
    before.write_text(SOURCE)
    assert old in SOURCE
    after.write_text(SOURCE.replace(old, new))
    assert (digest.normalized(before) == digest.normalized(after)) is same


@pytest.fixture
def checkout(digest, tmp_path, monkeypatch):
    """A copy of an adapter that the digest reads, and a function that gives a model's digest."""
    shutil.copytree(digest.ROOT / "adapters" / "pytorch", tmp_path / "adapters" / "pytorch")
    networks = tmp_path / "core" / "mbench" / "sdk" / "networks"
    networks.mkdir(parents=True)
    (networks / "net.py").write_text("def relu(x):\n    return max(x, 0)\n")
    monkeypatch.setattr(digest, "ROOT", tmp_path)

    def found(model="resnet18"):
        digest.implementation.cache_clear()
        return digest.code_of("torch", model)

    yield tmp_path / "adapters" / "pytorch" / "mbench_pytorch", found
    digest.implementation.cache_clear()


def test_a_family_depends_on_its_own_files(checkout):
    package, found = checkout
    before, other = found(), found("alexnet")
    file = package / "models" / "resnet.py"
    file.write_text(file.read_text() + "\nSLIP = 1\n")
    assert found() != before
    assert found("alexnet") == other


def test_a_module_that_is_renamed_changes_nothing(checkout):
    package, found = checkout
    before = found()
    (package / "vision.py").rename(package / "pictures.py")
    for file in package.rglob("*.py"):
        text = file.read_text().replace(
            "mbench_pytorch.vision import", "mbench_pytorch.pictures import"
        )
        file.write_text(text)
    assert "pictures" in (package / "runtime.py").read_text()
    assert found() == before


def test_what_describes_an_adapter_or_serves_several_devices_is_no_part_of_it(checkout):
    package, found = checkout
    before = found()
    for name in ("plugin", "tiers", "parallel", "profiler"):
        file = package / f"{name}.py"
        file.write_text(file.read_text() + "\nMORE = 1\n")
    assert found() == before


def test_shared_model_files_count_where_they_are_imported(checkout):
    package, found = checkout
    file = package / "models" / "resnet.py"
    file.write_text(file.read_text() + "\nfrom mbench.sdk.networks.net import relu\n")
    before = found()
    shared = package.parents[2] / "core" / "mbench" / "sdk" / "networks" / "net.py"
    shared.write_text(shared.read_text().replace("0", "1"))
    assert found() != before


def test_tolerances_and_frameworks_count(digest, monkeypatch):
    before = digest.code_of("torch", "alexnet")
    assert digest.code_of("tf", "alexnet") != before
    monkeypatch.setattr(digest.tolerances, "EXACT", 1e-8)
    assert digest.code_of("torch", "alexnet") != before


def test_the_reference_file_counts_but_not_by_whom_it_was_made(digest, tmp_path, monkeypatch):
    before = digest.code_of("torch", "alexnet")
    stored = digest.folder_of("mbench.workloads.alexnet:MODELS") / "alexnet.npz"
    with np.load(stored) as found:
        arrays = dict(found)
    monkeypatch.setattr(digest, "folder_of", lambda reference: tmp_path)

    def saved(**changes):
        np.savez(tmp_path / "alexnet.npz", **{**arrays, **changes})
        digest.facts_of.cache_clear()
        return digest.code_of("torch", "alexnet")

    assert saved() == saved(made=np.zeros(3)) == before
    assert saved(**{"own/losses": np.ones(3)}) != before
    digest.facts_of.cache_clear()


def test_what_is_not_in_the_zoo_has_none(digest):
    assert digest.code_of("tiny", "resnet50") == digest.code_of("torch", "tiny-model") == ""
