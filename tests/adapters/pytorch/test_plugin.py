"""The description of PyTorch, which must be right without PyTorch."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import types

import pytest

from mbench.contract.adapter import Adapter
from mbench.contract.case import Case
from mbench.workloads.resnet import RESNET50
from mbench_pytorch.plugin import PyTorch, mbench_adapters


def case(**changes: object) -> Case:
    values = {
        "model": "resnet50",
        "workload": "mbench.workloads.resnet:RESNET50",
        "mode": "train",
        "batch_size": 2,
        "precision": "fp32",
        "compiler": "eager",
        "device": "cpu",
        "threads": 1,
    }
    return Case(**{**values, **changes})


def test_registers_one_adapter():
    (adapter,) = mbench_adapters()
    assert isinstance(adapter, Adapter)
    assert (adapter.name, adapter.title) == ("torch", "PyTorch")
    assert next(iter(adapter.compilers)) == "eager"


def test_import_brings_no_framework():
    code = "import sys, mbench_pytorch.plugin; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"torch", "torchvision", "transformers"} & set(found.stdout.split())


@pytest.mark.parametrize("precision", ["fp32", "fp64", "amp-bf16", "bf16"])
@pytest.mark.parametrize("compiler", ["eager", "inductor", "xla"])
@pytest.mark.parametrize("mode", ["train", "inference"])
def test_supports_on_cpu(precision, compiler, mode):
    answer = PyTorch().supports(case(precision=precision, compiler=compiler, mode=mode))
    assert answer.supported, answer.reason


@pytest.mark.parametrize("precision", ["fp32", "tf32", "amp-fp16", "fp16"])
def test_supports_on_cuda(precision):
    assert PyTorch().supports(case(precision=precision, device="cuda")).supported


def test_supports_bert():
    bert = case(model="bert-base", workload="mbench.workloads.bert:BERT_BASE")
    assert PyTorch().supports(bert).supported


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"precision": "tf32"}, "CUDA"),
        ({"precision": "fp16"}, "use bf16"),
        ({"precision": "amp-fp16"}, "use amp-bf16"),
        ({"precision": "int3"}, "has no precision int3"),
        ({"compiler": "graph"}, "no compiler graph"),
        ({"device": "tpu"}, "no device tpu"),
        ({"mode": "dream"}, "no mode dream"),
        ({"compiler": "xla", "device": "cuda"}, "no CUDA since"),
    ],
)
def test_says_no_with_the_reason(changes, reason):
    answer = PyTorch().supports(case(**changes))
    assert not answer.supported
    assert reason in answer.reason


def test_says_no_to_a_family_without_a_model_file(monkeypatch):
    strange = types.SimpleNamespace(MODEL=dataclasses.replace(RESNET50, family="strange"))
    monkeypatch.setitem(sys.modules, "strange", strange)
    answer = PyTorch().supports(case(workload="strange:MODEL"))
    assert not answer.supported
    assert "no strange model" in answer.reason


@pytest.mark.parametrize("accelerator", ["cpu", "cuda"])
def test_requirements_of_the_pinned_version(accelerator):
    pinned = ("torch==2.13.0", "torchvision==0.28.0", "transformers==5.23.0")
    assert PyTorch().requirements(None, accelerator) == pinned
    assert PyTorch().requirements("2.13.0", accelerator) == pinned


@pytest.mark.parametrize(
    ("version", "torchvision"),
    [("2.12", "0.27.*"), ("2.12.1", "0.27.*"), ("2.6.0+cpu", "0.21.*"), ("2.13.1", "0.28.*")],
)
def test_torchvision_follows_torch(version, torchvision):
    assert PyTorch().requirements(version, "cpu") == (
        f"torch=={version}",
        f"torchvision=={torchvision}",
        "transformers==5.23.0",
    )


@pytest.mark.parametrize("version", ["1.13.1", "2.5.1", "3.0", "2.x", "newest", ""])
def test_requirements_reject_other_versions(version):
    with pytest.raises(ValueError, match="not supported"):
        PyTorch().requirements(version, "cpu")


def test_environment_names_the_device_of_torch_xla():
    assert PyTorch().environment(threads=3, device="cpu")["PJRT_DEVICE"] == "CPU"
