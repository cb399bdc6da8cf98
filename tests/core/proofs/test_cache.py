"""Proofs are remembered under a key of all that could change them; failures are not remembered."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import platformdirs
import pytest
from cases import make_case

from mbench.contract.case import ProofWork
from mbench.contract.tier import Tier
from mbench.environments import look
from mbench.environments.environment import Environment
from mbench.proofs import cache
from mbench.proofs.judge import CheckResult, Proof
from mbench.proofs.proof_case import proof_work

CASE = make_case()
HERE = Environment(
    label="framed",
    python=Path(sys.executable),
    python_version="3.11.7",
    managed=False,
    digest=None,
    packages={"framework": "1.0", "numpy": "2.0"},
)
GOOD = Proof([CheckResult("timed", 1e-7, 1e-5, "loss of step 1")])
BAD = Proof([CheckResult("timed", 1.0, 1e-5, "loss of step 1")])
WORK = proof_work(CASE)


@pytest.fixture
def adapter(tmp_path, monkeypatch):
    """An adapter whose runtime is in a package that a test may change."""
    package = tmp_path / "framed"
    (package / "models").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "runtime.py").write_text("class Runtime: pass\n")
    (package / "models" / "net.py").write_text("one = 1\n")
    (package / "models" / "resnet.py").write_text("one = 1\n")
    (package / "models" / "tiny-model.npz").write_bytes(b"1")
    (package / "models" / "other.npz").write_bytes(b"1")
    (package / "notes.txt").write_text("1")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield SimpleNamespace(
        name="framed", runtime="framed.runtime:Runtime", package=package, tuned_by=("FRAMED_",),
        models="framed.models", compilers={"eager": ""}, tiers={},
        variables=lambda threads, device: {"FRAMED_OWN": "1"},
    )  # fmt: skip
    sys.modules.pop("framed", None)


def key(adapter, *, environment=HERE, case=CASE, work=WORK):
    """The key, computed without this process's caches, as another process would."""
    cache.files.cache_clear()
    cache.content.cache_clear()
    return cache.key(adapter, environment, case, work)


def test_the_same_has_the_same_key(adapter):
    again = replace(HERE, packages=dict(reversed(HERE.packages.items())))
    assert key(adapter) == key(adapter, environment=again)


@pytest.mark.parametrize(
    "change",
    [
        {"mode": "inference"}, {"precision": "amp-bf16"}, {"compiler": "graph"},
        {"device": "cuda"}, {"threads": 2}, {"batch_size": 16},
    ],
    ids=str,
)  # fmt: skip
def test_another_case_has_another_key(adapter, change):
    assert key(adapter) != key(adapter, case=replace(CASE, **change))


@pytest.mark.parametrize("work", [WORK.plain(1e-3), ProofWork(), replace(WORK, layers=2)])
def test_another_work_has_another_key(adapter, work):
    assert key(adapter) != key(adapter, work=work)


@pytest.mark.parametrize(
    "change",
    [
        {"packages": {"framework": "1.1", "numpy": "2.0"}},
        {"packages": {"framework": "1.0", "numpy": "2.0", "plugin": "1"}},
        {"packages": {"framework": "1.0"}},
        {"python": Path("/elsewhere/python")},
    ],
    ids=str,
)
def test_another_environment_has_another_key(adapter, change):
    assert key(adapter) != key(adapter, environment=replace(HERE, **change))


def test_another_adapter_has_another_key(adapter):
    other = SimpleNamespace(**{**vars(adapter), "name": "other"})
    assert key(adapter) != key(other)


def test_an_edited_file_of_a_distribution_has_another_key(adapter, tmp_path):
    """Even if the distribution keeps its version, and its list of files is unchanged."""
    about = tmp_path / "home" / "toy-1.0.dist-info"
    about.mkdir(parents=True)
    module = tmp_path / "home" / "toy.py"
    module.write_text("one = 1\n")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n")
    (about / "RECORD").write_text("toy.py,sha256=abc,8\ntoy-1.0.dist-info/RECORD,,\n")
    case = replace(CASE, variables={"PYTHONPATH": str(tmp_path / "home")})
    before = key(adapter, case=case)
    assert key(adapter, case=case) == before
    module.write_text("one = 2\n")
    look._looks.clear()  # as another process would
    edited = key(adapter, case=case)
    assert edited != before
    (about / "RECORD").write_text("toy.py,sha256=def,8\ntoy-1.0.dist-info/RECORD,,\n")
    (tmp_path / "home" / "more").mkdir()
    assert key(adapter, case=case) not in (before, edited), "a folder that changed is seen at once"


def test_another_interpreter_has_another_key(adapter):
    optimized = replace(CASE, variables={"PYTHONOPTIMIZE": "1"})
    looked = [look.identity(HERE, case.variables) for case in (CASE, optimized)]
    assert looked[0]["flags"] != looked[1]["flags"]
    assert key(adapter, case=CASE) != key(adapter, case=optimized)


@pytest.mark.parametrize("variable", ["FRAMED_FAST_MATH", "MKL_CBWR"])
def test_another_variable_that_tunes_arithmetic_has_another_key(adapter, variable, monkeypatch):
    before = key(adapter)
    monkeypatch.setenv(variable, "1")
    assert key(adapter) != before


def test_a_proof_is_known_by_what_its_tier_sets_and_not_by_its_name(adapter):
    tuned = {"variables": {"TIER": "1"}, "settings": {"layout": "last"}}
    keys = set()
    for changes in ({}, {"variables": {"TIER": "1"}}, {"settings": {"layout": "last"}}, tuned):
        adapter.tiers = {
            "tuned": Tier(says="tuned", source="a guide", compilers=("eager",), **changes)
        }
        case = replace(CASE, tier="tuned")
        keys.add(key(adapter, case=case))
        assert key(adapter, case=replace(case, tier="best")) == key(adapter, case=case)
    assert len(keys) == 4


def test_another_processor_has_another_key(adapter, monkeypatch):
    before = key(adapter)
    monkeypatch.setattr(cache, "cpu_model", lambda: "another, AVX2")
    assert key(adapter) != before


@pytest.mark.parametrize("variable", ["EDITOR", "OMP_NUM_THREADS"])
def test_a_variable_that_does_not_reach_or_tune_workers_changes_nothing(
    adapter, variable, monkeypatch
):
    before = key(adapter)
    monkeypatch.setenv(variable, "2")
    assert key(adapter) == before


@pytest.mark.parametrize("file", ["runtime.py", "__init__.py", "models/net.py",
                                  "models/tiny-model.npz"])  # fmt: skip
def test_changed_code_or_reference_files_have_another_key(adapter, file):
    before = key(adapter)
    path = adapter.package / file
    original = path.read_bytes()
    path.write_bytes(original + b"#")
    assert key(adapter) != before
    path.write_bytes(original)
    assert key(adapter) == before


@pytest.mark.parametrize("file", ["models/resnet.py", "models/other.npz"])
def test_other_families_and_other_models_reference_files_do_not_count(adapter, file):
    before = key(adapter)
    (adapter.package / file).write_bytes(b"2")
    assert key(adapter) == before
    resnet = replace(CASE, model="other", workload="mbench.workloads.resnet:RESNET50")
    before = key(adapter, case=resnet)
    (adapter.package / file).write_bytes(b"3")
    assert key(adapter, case=resnet) != before


def test_a_new_module_has_another_key_and_other_files_have_not(adapter):
    before = key(adapter)
    (adapter.package / "notes.txt").write_text("2")
    (adapter.package / "log").mkdir()
    assert key(adapter) == before
    (adapter.package / "models" / "new.py").write_text("")
    assert key(adapter) != before


def test_code_that_moves_from_one_file_to_another_has_another_key(adapter):
    before = key(adapter)
    models = adapter.package / "models"
    (models / "net.py").rename(models / "web.py")
    assert key(adapter) != before


def test_a_proof_is_remembered():
    cache.remember("name", GOOD)
    assert cache.recall("name") == GOOD.record()
    assert cache.recall("other") is None
    assert [path.name for path in cache.folder().iterdir()] == ["name.json"]


def test_a_failure_is_not_remembered():
    cache.remember("name", BAD)
    assert cache.recall("name") is None
    cache.remember("name", GOOD)
    cache.remember("name", BAD)
    assert cache.recall("name") == GOOD.record()


def kept(**changes):
    """A proof's file with some of the proof's fields, or the key, changed."""
    key = changes.pop("key", "name")
    return json.dumps({"key": key, "proof": asdict(GOOD.record()) | changes})


FINDING = asdict(GOOD.record().findings[0])


@pytest.mark.parametrize(
    "content",
    [
        "", "{", "[]", "7", "null", "{}", "\x00", "[" * 10**5, "x" * 2**21,
        json.dumps(asdict(GOOD.record())),  # without a key
        kept(key="other"),
        kept(proven=1),
        kept(proven=False, failures=["no"]),
        kept(findings=5),
        kept(findings=[]),
        kept(findings=[FINDING | {"passed": False}]),
        kept(failures=["but not quite"]),
        kept(case="x"),
    ],
    ids=lambda content: content[:30],
)  # fmt: skip
def test_what_cannot_be_read_or_believed_is_not_remembered(content):
    cache.remember("name", GOOD)
    path = cache.folder() / "name.json"
    path.write_text(kept())
    assert cache.recall("name") == GOOD.record()
    path.write_text(content)
    assert cache.recall("name") is None


def test_a_proof_that_another_user_may_have_written_is_not_believed(monkeypatch):
    cache.remember("name", GOOD)
    path = cache.folder() / "name.json"
    for mode, believed in ((0o600, True), (0o644, True), (0o664, False), (0o646, False)):
        path.chmod(mode)
        assert (cache.recall("name") is not None) is believed
    path.chmod(0o644)
    us = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: us + 1)
    assert (cache.recall("name") is not None) is (us == 0)  # root could do anything anyway


def test_a_pipe_in_place_of_a_proof_is_not_waited_for():
    cache.folder().mkdir(parents=True)
    os.mkfifo(cache.folder() / "name.json")
    assert cache.recall("name") is None


def test_a_cache_that_cannot_be_written_does_no_harm(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("MBENCH_PROOFS", str(tmp_path / "file" / "proofs"))
    cache.remember("name", GOOD)
    assert cache.recall("name") is None


def test_the_folder_is_the_variables_or_the_users(tmp_path, monkeypatch):
    monkeypatch.setenv("MBENCH_PROOFS", str(tmp_path))
    assert cache.folder() == tmp_path
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MBENCH_PROOFS", "~/kept")
    assert cache.folder() == tmp_path / "kept"
    monkeypatch.delenv("MBENCH_PROOFS")
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda name, appauthor: tmp_path / name)
    assert cache.folder() == tmp_path / "mbench" / "proofs"
