"""The description of TensorFlow, which must be right without TensorFlow."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import types

import pytest

from mbench.contract.adapter import Adapter
from mbench.contract.case import Case
from mbench.workloads.resnet import RESNET50
from mbench_tensorflow.plugin import TensorFlow, mbench_adapters


def case(**changes: object) -> Case:
    values = {
        "model": "resnet50",
        "workload": "mbench.workloads.resnet:RESNET50",
        "mode": "train",
        "batch_size": 2,
        "precision": "fp32",
        "compiler": "graph",
        "device": "cpu",
        "threads": 1,
    }
    return Case(**{**values, **changes})


def test_registers_one_adapter():
    (adapter,) = mbench_adapters()
    assert isinstance(adapter, Adapter)
    assert (adapter.name, adapter.title) == ("tf", "TensorFlow")
    assert next(iter(adapter.compilers)) == "graph"


def test_import_brings_no_framework():
    code = "import sys, mbench_tensorflow.plugin; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"tensorflow", "keras", "numpy"} & set(found.stdout.split())


@pytest.mark.parametrize("precision", ["fp32", "fp64", "amp-bf16", "bf16"])
@pytest.mark.parametrize("compiler", ["graph", "xla", "eager"])
@pytest.mark.parametrize("mode", ["train", "inference"])
def test_supports_on_cpu(precision, compiler, mode):
    answer = TensorFlow().supports(case(precision=precision, compiler=compiler, mode=mode))
    assert answer.supported, answer.reason


@pytest.mark.parametrize("precision", ["fp32", "tf32", "amp-fp16", "fp16"])
def test_supports_on_cuda(precision):
    assert TensorFlow().supports(case(precision=precision, device="cuda")).supported


def test_supports_bert():
    bert = case(model="bert-base", workload="mbench.workloads.bert:BERT_BASE")
    assert TensorFlow().supports(bert).supported


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"precision": "tf32"}, "CUDA"),
        ({"precision": "fp16"}, "use bf16"),
        ({"precision": "amp-fp16"}, "use amp-bf16"),
        ({"precision": "int3"}, "has no precision int3"),
        ({"compiler": "inductor"}, "no compiler inductor"),
        ({"device": "tpu"}, "no device tpu"),
        ({"mode": "dream"}, "no mode dream"),
    ],
)
def test_says_no_with_the_reason(changes, reason):
    answer = TensorFlow().supports(case(**changes))
    assert not answer.supported
    assert reason in answer.reason


def test_says_no_to_a_family_without_a_model_file(monkeypatch):
    strange = types.SimpleNamespace(MODEL=dataclasses.replace(RESNET50, family="strange"))
    monkeypatch.setitem(sys.modules, "strange", strange)
    answer = TensorFlow().supports(case(workload="strange:MODEL"))
    assert not answer.supported
    assert "no strange model" in answer.reason


@pytest.mark.parametrize(
    ("accelerator", "distribution"), [("cpu", "tensorflow-cpu"), ("cuda", "tensorflow[and-cuda]")]
)
def test_requirements_follow_the_accelerator(accelerator, distribution):
    assert TensorFlow().requirements(None, accelerator) == (f"{distribution}==2.21.0",)
    assert TensorFlow().requirements("2.20.0", accelerator) == (f"{distribution}==2.20.0",)


def test_environment_chooses_keras_backend():
    assert TensorFlow().environment(threads=3, device="cpu")["KERAS_BACKEND"] == "tensorflow"
