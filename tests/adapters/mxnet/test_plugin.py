"""The description of MXNet, which must be right without MXNet."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import types

import pytest

from mbench.contract.adapter import Adapter
from mbench.contract.case import Case
from mbench.workloads.resnet import RESNET50
from mbench_mxnet.libraries import explain
from mbench_mxnet.plugin import MXNet, mbench_adapters


def case(**changes: object) -> Case:
    values = {
        "model": "resnet50",
        "workload": "mbench.workloads.resnet:RESNET50",
        "mode": "train",
        "batch_size": 2,
        "precision": "fp32",
        "compiler": "hybrid",
        "device": "cpu",
        "threads": 1,
    }
    return Case(**{**values, **changes})


def test_registers_one_adapter():
    (adapter,) = mbench_adapters()
    assert isinstance(adapter, Adapter)
    assert (adapter.name, adapter.title) == ("mxnet", "MXNet")
    assert next(iter(adapter.compilers)) == "hybrid"


def test_import_brings_no_framework():
    code = "import sys, mbench_mxnet.plugin; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"mxnet", "numpy"} & set(found.stdout.split())


@pytest.mark.parametrize("precision", ["fp32", "fp64", "amp-bf16"])
@pytest.mark.parametrize("compiler", ["hybrid", "eager"])
@pytest.mark.parametrize("mode", ["train", "inference"])
def test_supports_on_cpu(precision, compiler, mode):
    answer = MXNet().supports(case(precision=precision, compiler=compiler, mode=mode))
    assert answer.supported, answer.reason


@pytest.mark.parametrize("precision", ["fp32", "fp64"])
def test_supports_onednn_for_inference(precision):
    answer = MXNet().supports(case(precision=precision, compiler="onednn", mode="inference"))
    assert answer.supported, answer.reason


@pytest.mark.parametrize("precision", ["fp32", "fp64", "amp-fp16", "fp16"])
def test_supports_on_cuda(precision):
    assert MXNet().supports(case(precision=precision, device="cuda")).supported


def test_supports_bert():
    bert = case(model="bert-base", workload="mbench.workloads.bert:BERT_BASE")
    assert MXNet().supports(bert).supported


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"precision": "tf32"}, "no switch for TensorFloat-32"),
        ({"precision": "tf32", "device": "cuda"}, "no switch for TensorFloat-32"),
        ({"precision": "bf16"}, "use amp-bf16"),
        ({"precision": "fp16"}, "use amp-bf16"),
        ({"precision": "amp-fp16"}, "use amp-bf16"),
        ({"precision": "amp-bf16", "device": "cuda"}, "use amp-fp16"),
        ({"precision": "int3"}, "has no precision int3"),
        ({"compiler": "xla"}, "no compiler xla"),
        ({"device": "tpu"}, "no device tpu"),
        ({"mode": "dream"}, "no mode dream"),
        (
            {"model": "lstm", "workload": "mbench.workloads.lstm:MODELS", "precision": "amp-bf16"},
            "no bfloat16",
        ),
        ({"compiler": "onednn"}, "for inference"),
        ({"compiler": "onednn", "mode": "inference", "device": "cuda"}, "for CPU"),
        ({"compiler": "onednn", "mode": "inference", "precision": "amp-bf16"}, "amp-bf16"),
    ],
)
def test_says_no_with_the_reason(changes, reason):
    answer = MXNet().supports(case(**changes))
    assert not answer.supported
    assert reason in answer.reason


def test_says_no_to_a_family_without_a_model_file(monkeypatch):
    strange = types.SimpleNamespace(MODEL=dataclasses.replace(RESNET50, family="strange"))
    monkeypatch.setitem(sys.modules, "strange", strange)
    answer = MXNet().supports(case(workload="strange:MODEL"))
    assert not answer.supported
    assert "no strange model" in answer.reason


def test_requirements_of_the_pinned_version():
    assert MXNet().requirements(None, "cpu") == ("mxnet==1.9.1", "numpy==1.23.5")
    assert MXNet().requirements(None, "cuda") == ("mxnet-cu112==1.9.1", "numpy==1.23.5")


def test_requirements_of_another_version():
    assert MXNet().requirements("1.9.0", "cpu") == ("mxnet==1.9.0", "numpy==1.23.5")


def test_environment_switches_tensorfloat32_off():
    assert MXNet().environment(threads=3, device="cuda")["NVIDIA_TF32_OVERRIDE"] == "0"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "libquadmath.so.0: cannot open shared object file: No such file or directory",
            "MXNet needs libquadmath.so.0: install libquadmath0",
        ),
        (
            "libgomp.so.1: cannot open shared object file: No such file or directory",
            "MXNet needs libgomp.so.1: install libgomp1",
        ),
        (
            "libodd.so.7: cannot open shared object file:\nNo such file or directory",
            "MXNet's library does not load: libodd.so.7: cannot open shared object file: "
            "No such file or directory",
        ),
    ],
)
def test_explains_a_missing_library(said, told):
    assert explain(OSError(said)) == told


def test_a_missing_library_is_unsupported():
    """With an mxnet that fails as the real one does where the library is missing."""
    code = """
import importlib.abc, importlib.machinery, sys

class Broken(importlib.abc.Loader, importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self) if name == "mxnet" else None

    def exec_module(self, module):
        import ctypes
        ctypes.CDLL("libsurely-missing.so.3")

sys.meta_path.insert(0, Broken())
from mbench.contract.adapter import Unsupported
try:
    import mbench_mxnet.runtime
except Unsupported as error:
    print(error)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.startswith("MXNet's library does not load: libsurely-missing.so.3: cannot")
