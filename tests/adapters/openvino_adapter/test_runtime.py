"""OpenVINO's side of a worker, and lies about a graph that outputs in fp32 must show."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import small
from small import BERT, infer, resnet

pytest.importorskip("openvino", reason="OpenVINO is not installed here")

import openvino
from mbench_openvino.compiler import products
from mbench_openvino.layers import Net, ops
from mbench_openvino.runtime import Runtime

from mbench.contract.adapter import Unsupported
from mbench.machine.cores import usable_cores
from mbench.proofs.tolerances import TIMED

RESNET = resnet(blocks=(1, 1), widths=(8, 16), stem=8, image_size=32)
WIDER = replace(BERT, config=replace(BERT.config, hidden=256, intermediate=512))
"""A BERT in which an approximation of GELU shows, as it does in BERT-Base by 3e-4."""
WORKLOADS = {"resnet": RESNET, "bert": BERT}
HALVES = {"bf16": "bf16", "amp-bf16": "f32"}
"""Precisions, with the type of the graph's inputs and outputs."""
prepare = partial(small.prepare, mode="inference", compiler="latency")
in_bfloat16 = pytest.mark.skipif(
    "BF16" not in openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES"),
    reason="this processor has no bfloat16",
)


def apart(found, due):
    return max(
        float(np.linalg.norm(found[name] - due[name]) / np.linalg.norm(due[name])) for name in due
    )


@pytest.mark.parametrize("workload", WORKLOADS)
def test_tiers_agree(runtime, workload):
    due = infer(prepare(runtime, WORKLOADS[workload]))
    found = infer(prepare(runtime, WORKLOADS[workload], tier="tuned"))
    assert found.keys() == due.keys()
    assert apart(found, due) < TIMED["fp32"]


@pytest.mark.parametrize("workload", WORKLOADS)
def test_outlines_have_the_workloads_tensors(runtime, workload):
    due = {tensor.name: tuple(tensor.shape) for tensor in WORKLOADS[workload].tensors()}
    assert {n: tuple(s) for n, s in runtime.shapes(WORKLOADS[workload]).items()} == due


@pytest.mark.parametrize("tier", ["default", "tuned"])
def test_outputs_follow_batches_and_parameters(runtime, tier):
    benchmark = prepare(runtime, RESNET, tier=tier)
    first = infer(benchmark)
    benchmark.step(1)
    assert apart(benchmark.outputs(), first) > 1e-4
    assert apart(infer(benchmark), first) == 0
    benchmark.load_parameters(RESNET.parameters(seed=1))
    assert apart(infer(benchmark), first) > 1e-4


@pytest.mark.parametrize("threads", [1, 2, 1000])
def test_threads_are_as_many_as_asked_for_and_there_are(threads):
    runtime = Runtime(device="cpu", threads=threads)
    compiled = prepare(runtime, RESNET, threads=threads).compiled
    used = runtime.describe().threads
    assert used == compiled.get_property("INFERENCE_NUM_THREADS")
    assert used == min(threads, usable_cores())
    assert compiled.get_property("NUM_STREAMS") == 1


def test_what_is_not_a_number_is_refused(runtime):
    """OpenVINO's ReLU would hide NaN."""
    benchmark = prepare(runtime, RESNET)
    benchmark.natives()["fc.bias"].tensor[0] = np.nan
    with pytest.raises(ValueError, match=r"fc\.bias is not finite"):
        benchmark.loaded()


def test_single_precision_is_not_what_openvino_would_choose(runtime):
    """By default, OpenVINO computes in bfloat16 where the processor has it."""
    assert products(prepare(runtime, RESNET).compiled) == {"f32"}


@in_bfloat16
@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("precision", HALVES)
def test_half_precision_is_bfloat16(runtime, workload, precision):
    due = infer(prepare(runtime, WORKLOADS[workload]))
    benchmark = prepare(runtime, WORKLOADS[workload], precision=precision)
    found = infer(benchmark)
    assert {output.dtype for output in found.values()} == {np.dtype("float32")}
    assert 1e-4 < apart(found, due) < TIMED[precision]
    assert products(benchmark.compiled) == {"bf16"}
    kinds = {one.element_type for one in (*benchmark.compiled.inputs, *benchmark.compiled.outputs)}
    assert {kind.get_type_name() for kind in kinds} - {"i64"} == {HALVES[precision]}


@pytest.mark.parametrize("precision", HALVES)
def test_a_processor_without_bfloat16_is_told(runtime, precision, monkeypatch):
    class Core:
        def get_property(self, device, name):
            return ["FP32", "INT8"]

    monkeypatch.setattr(openvino, "Core", Core)
    with pytest.raises(Unsupported, match="no bfloat16 in this processor"):
        prepare(runtime, RESNET, precision=precision)


def test_what_openvino_calls_float64_is_not(runtime):
    """This is why the adapter refuses fp64; if this test fails, it no longer needs to."""
    x, y = np.random.default_rng(0).normal(size=(2, 16, 16))
    given = ops.parameter([16, 16], openvino.Type.f64)
    model = openvino.Model([ops.matmul(given, y, False, False)], [given], "product")
    (found,) = openvino.compile_model(model, "CPU")(x).values()
    assert found.dtype == np.float64
    assert np.abs(found - x @ y).max() > 1e-9


def swaps_filters(benchmark, monkeypatch):
    native = benchmark.natives()["layer1.0.conv1.weight"].tensor
    native[[0, 1]] = native[[1, 0]]


def large_epsilon(benchmark, monkeypatch):
    config = replace(benchmark.workload.config, epsilon=1e-3)
    benchmark.workload = replace(benchmark.workload, config=config)


def no_second_relu(benchmark, monkeypatch):
    calls = []

    def relu(net, x):
        calls.append(x)
        return x if len(calls) == 2 else ops.relu(x)

    monkeypatch.setattr(Net, "relu", relu)


def tanh_gelu(benchmark, monkeypatch):
    monkeypatch.setattr(Net, "gelu", lambda net, x: ops.gelu(x, "tanh"))


@pytest.mark.parametrize(
    ("workload", "lie"),
    [
        (RESNET, swaps_filters),
        (RESNET, large_epsilon),
        (RESNET, no_second_relu),
        (WIDER, tanh_gelu),
        (BERT, large_epsilon),
    ],
    ids=["swapped filters", "batch norm's epsilon", "no relu", "tanh", "layer norm's epsilon"],
)
def test_lies_show_in_fp32(runtime, workload, lie, monkeypatch):
    """Each lie moves outputs by more than the gate of the second grade."""
    benchmark = prepare(runtime, workload)
    due = infer(benchmark)
    lie(benchmark, monkeypatch)
    benchmark.loaded()
    assert apart(infer(benchmark), due) > TIMED["fp32"]
