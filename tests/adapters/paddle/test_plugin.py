"""The description of PaddlePaddle, which must be right without PaddlePaddle."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import types

import pytest

from mbench.contract.adapter import Adapter
from mbench.contract.case import Case
from mbench.workloads.resnet import RESNET50
from mbench_paddle.plugin import PaddlePaddle, mbench_adapters


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
    assert (adapter.name, adapter.title) == ("paddle", "PaddlePaddle")
    assert next(iter(adapter.compilers)) == "eager"


def test_import_brings_no_framework():
    code = "import sys, mbench_paddle.plugin; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "paddle" not in found.stdout.split()


@pytest.mark.parametrize("precision", ["fp32", "fp64"])
@pytest.mark.parametrize("compiler", ["eager", "static", "cinn"])
@pytest.mark.parametrize("mode", ["train", "inference"])
def test_supports_on_cpu(precision, compiler, mode):
    answer = PaddlePaddle().supports(case(precision=precision, compiler=compiler, mode=mode))
    assert answer.supported, answer.reason


@pytest.mark.parametrize("precision", ["fp32", "fp64", "bf16"])
def test_supports_the_engine_on_cpu(precision):
    answer = PaddlePaddle().supports(case(precision=precision, compiler="engine", mode="inference"))
    assert answer.supported, answer.reason


@pytest.mark.parametrize("precision", ["fp32", "tf32", "amp-fp16", "amp-bf16", "fp16", "bf16"])
def test_supports_on_cuda(precision):
    assert PaddlePaddle().supports(case(precision=precision, device="cuda")).supported


def test_supports_bert():
    bert = case(model="bert-base", workload="mbench.workloads.bert:BERT_BASE")
    assert PaddlePaddle().supports(bert).supported


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"precision": "tf32"}, "CUDA"),
        ({"precision": "fp16"}, "use bf16 with engine"),
        ({"precision": "amp-fp16"}, "AMP does nothing on CPU"),
        ({"precision": "amp-bf16"}, "AMP does nothing on CPU"),
        ({"precision": "amp-bf16", "compiler": "engine", "mode": "inference"}, "use bf16"),
        ({"precision": "amp-fp16", "compiler": "engine", "mode": "inference", "device": "cuda"},
         "no autocast: use fp16"),
        ({"precision": "bf16"}, "in its inference engine only"),
        ({"precision": "bf16", "compiler": "static", "mode": "inference"}, "engine only"),
        ({"model": "lstm", "workload": "mbench.workloads.lstm:MODELS", "precision": "amp-bf16",
          "device": "cuda"}, "float32 and float64 only"),
        ({"precision": "int3"}, "no precision int3"),
        ({"compiler": "engine"}, "does not train: use eager or static"),
        ({"compiler": "graph"}, "no compiler graph"),
        ({"device": "tpu"}, "no device tpu"),
        ({"mode": "dream"}, "no mode dream"),
    ],
)  # fmt: skip
def test_says_no_with_the_reason(changes, reason):
    answer = PaddlePaddle().supports(case(**changes))
    assert not answer.supported
    assert reason in answer.reason


def test_says_no_to_a_family_without_a_model_file(monkeypatch):
    strange = types.SimpleNamespace(MODEL=dataclasses.replace(RESNET50, family="strange"))
    monkeypatch.setitem(sys.modules, "strange", strange)
    answer = PaddlePaddle().supports(case(workload="strange:MODEL"))
    assert not answer.supported
    assert "no strange model" in answer.reason


@pytest.mark.parametrize(
    ("accelerator", "distribution"), [("cpu", "paddlepaddle"), ("cuda", "paddlepaddle-gpu")]
)
def test_requirements(accelerator, distribution):
    pinned, *others = PaddlePaddle().requirements(None, accelerator)
    assert pinned == f"{distribution}==3.3.1"
    assert others == ["numpy==2.2.6", "setuptools==80.9.0"]
    assert PaddlePaddle().requirements("3.2.0", accelerator)[0] == f"{distribution}==3.2.0"
