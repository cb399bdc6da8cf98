"""ONNX Runtime's side of a worker, and lies about a graph that outputs in fp32 must show."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import small
from small import BERT, infer, resnet

pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed here")

from mbench_onnxruntime.runtime import Runtime

from mbench.proofs.tolerances import TIMED

RESNET = resnet(blocks=(1, 1), widths=(8, 16), stem=8, image_size=32)
WIDER = replace(BERT, config=replace(BERT.config, hidden=256, intermediate=512))
"""A BERT in which an approximation of GELU shows, as it does in BERT-Base by 3e-4."""
WORKLOADS = {"resnet": RESNET, "bert": BERT}
prepare = partial(small.prepare, mode="inference", compiler="all")


@pytest.fixture(scope="module")
def runtime():
    return Runtime(device="cpu", threads=2)


def apart(found, due):
    return max(
        float(np.linalg.norm(found[name] - due[name]) / np.linalg.norm(due[name])) for name in due
    )


@pytest.mark.parametrize("workload", WORKLOADS)
def test_compilers_and_tiers_agree(runtime, workload):
    due = infer(prepare(runtime, WORKLOADS[workload]))
    others = [{"compiler": "basic"}, {"compiler": "extended"}, {"tier": "tuned"}]
    for changes in others:
        found = infer(prepare(runtime, WORKLOADS[workload], **changes))
        assert found.keys() == due.keys()
        assert apart(found, due) < TIMED["fp32"], changes


@pytest.mark.parametrize("workload", WORKLOADS)
def test_outlines_have_the_workloads_tensors(runtime, workload):
    due = {tensor.name: tuple(tensor.shape) for tensor in WORKLOADS[workload].tensors()}
    assert {n: tuple(s) for n, s in runtime.shapes(WORKLOADS[workload]).items()} == due


def test_outputs_follow_batches_and_parameters(runtime):
    benchmark = prepare(runtime, RESNET)
    first = infer(benchmark)
    benchmark.step(1)
    assert apart(benchmark.outputs(), first) > 1e-4
    benchmark.load_parameters(RESNET.parameters(seed=1))
    assert apart(infer(benchmark), first) > 1e-4


def swaps_filters(benchmark, monkeypatch):
    native = benchmark.natives()["layer1.0.conv1.weight"].tensor
    native[[0, 1]] = native[[1, 0]]
    benchmark.loaded()


def changes_nodes(kind, change):
    def tell(benchmark, monkeypatch):
        nodes = [node for node in benchmark.model.nodes if node.op_type == kind]
        assert nodes
        change(nodes)
        benchmark.loaded()

    return tell


def epsilon(nodes):
    for node in nodes:
        (attribute,) = [one for one in node.attribute if one.name == "epsilon"]
        attribute.f = 1e-3


def no_relu(nodes):
    nodes[1].op_type = "Identity"


def tanh_gelu(nodes):
    for node in nodes:
        (attribute,) = node.attribute
        attribute.s = b"tanh"


@pytest.mark.parametrize(
    ("workload", "lie"),
    [
        (RESNET, swaps_filters),
        (RESNET, changes_nodes("BatchNormalization", epsilon)),
        (RESNET, changes_nodes("Relu", no_relu)),
        (WIDER, changes_nodes("Gelu", tanh_gelu)),
        (BERT, changes_nodes("LayerNormalization", epsilon)),
    ],
    ids=["swapped filters", "batch norm's epsilon", "no relu", "tanh", "layer norm's epsilon"],
)
def test_lies_show_in_fp32(runtime, workload, lie, monkeypatch):
    """Each lie moves outputs by more than the gate of the second grade."""
    due = infer(prepare(runtime, workload))
    benchmark = prepare(runtime, workload)
    lie(benchmark, monkeypatch)
    error = apart(infer(benchmark), due)
    assert error > TIMED["fp32"]
