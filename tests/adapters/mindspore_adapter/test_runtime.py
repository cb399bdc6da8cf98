"""MindSpore's side of a worker, on models that run in seconds."""

from __future__ import annotations

import dataclasses
import os
import time
from functools import partial

import numpy as np
import pytest
import small
from alike import RuntimesAlike
from small import BERT, infer, losses, resnet

from mbench.cli.builtin import mbench_workloads
from mbench.contract.adapter import Unsupported
from mbench.contract.tier import DEFAULT, TUNED
from mbench.workloads.find import find_workload
from mbench.workloads.lstm import MODELS as LSTM

pytest.importorskip("mindspore", reason="MindSpore is not installed here")

import mindspore as ms
from mindspore import ops

RESNET = resnet(blocks=(1, 1), widths=(8, 16), stem=8, image_size=32)
SHALLOW = dataclasses.replace(BERT, config=dataclasses.replace(BERT.config, layers=1))
WORKLOADS = {"resnet": RESNET, "bert": SHALLOW}
prepare = partial(small.prepare, compiler="pynative")


@pytest.fixture(params=WORKLOADS)
def workload(request):
    return WORKLOADS[request.param]


class TestAlike(RuntimesAlike):
    version = ms.__version__
    others = ("mindspore", "numpy")

    @staticmethod
    def finds_cuda():
        return False

    @pytest.mark.parametrize("precision", ["fp64", "fp32"])
    def test_tiers_compute_the_same(self, runtime, workload, precision):
        """The tiers differ in the compiler alone."""
        for tier in (DEFAULT, TUNED):
            made = prepare(runtime, workload, precision=precision, tier=tier)
            assert runtime.adapter.tiers[tier].source in made.differences[0]


@pytest.mark.parametrize(
    "workload",
    ["resnet", pytest.param("bert", marks=pytest.mark.thorough)],  # two long compilations
    indirect=True,
)
def test_compilers_agree(runtime, workload):
    expected = losses(prepare(runtime, workload, precision="fp64"), 3)
    assert len(set(expected)) == 3
    compiled = prepare(runtime, workload, precision="fp64", compiler="graph")
    assert losses(compiled, 3) == pytest.approx(expected, rel=1e-12)
    compiled.load_parameters(workload.parameters(seed=0))
    assert losses(compiled, 3) == pytest.approx(expected, rel=1e-12)


def test_a_graph_takes_each_batch_as_it_comes_and_is_compiled_once(runtime):
    found = []
    for compiler in ("pynative", "graph"):
        made = prepare(runtime, RESNET, mode="inference", compiler=compiler)
        outputs = []
        for at in range(3):
            made.step(at)
            made.synchronize()
            outputs.append(made.outputs()["logits"])
        found.append(np.stack(outputs))
    assert len({str(each) for each in found[0]}) == 3
    np.testing.assert_allclose(found[0], found[1], rtol=1e-4, atol=1e-5)
    begun = time.perf_counter()
    made.step(0)
    made.synchronize()
    assert time.perf_counter() - begun < 5


def test_outputs_agree_with_pynative(runtime, workload):
    compiled = infer(
        prepare(runtime, workload, mode="inference", precision="fp64", compiler="graph")
    )
    eager = infer(prepare(runtime, workload, mode="inference", precision="fp64"))
    for name, expected in eager.items():
        assert expected.dtype == np.float64
        np.testing.assert_allclose(compiled[name], expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("precision", ["fp64"])
def test_single_precision_is_near_what_is_composed_in_double(runtime, workload, precision):
    """The timed layers and optimizers agree with those that replace them in float64."""
    exact = prepare(runtime, workload, precision=precision)
    timed = prepare(runtime, workload)
    assert losses(timed, 3) == pytest.approx(losses(exact, 3), rel=1e-5)
    for (name, expected), (_, found) in zip(exact.parameters(), timed.parameters(), strict=True):
        assert np.abs(found - expected).max() <= 1e-3 * np.abs(expected).max() + 1e-5, name


def test_an_lstm_is_the_composed_one(runtime):
    config = dataclasses.replace(LSTM["lstm"].config, layers=2, features=8, hidden=16)
    workload = dataclasses.replace(LSTM["lstm"], config=config).resized(sequence_length=6)
    timed = infer(prepare(runtime, workload, mode="inference"))["logits"]
    exact = infer(prepare(runtime, workload, mode="inference", precision="fp64"))["logits"]
    np.testing.assert_allclose(timed, exact, rtol=1e-4, atol=1e-6)


def test_masks_are_drawn_anew_at_each_step(runtime):
    workload = dataclasses.replace(SHALLOW, optimizer=SHALLOW.optimizer.plain_sgd(0.0))
    assert len(set(losses(prepare(runtime, workload, dropout=True), 3))) == 3


def test_all_models_have_the_names_and_shapes_of_the_reference(runtime):
    for name, reference in mbench_workloads().items():
        workload = find_workload(reference, name)
        if workload.family in ("dit", "dlrm", "llama", "moe", "vit"):
            continue
        expected = {tensor.name: tensor.shape for tensor in workload.tensors()}
        assert runtime.shapes(workload) == expected, name


def test_nothing_is_left_in_the_work_folder(runtime, tmp_path, monkeypatch):
    """A failed compilation leaves its files in temporary folders."""
    monkeypatch.chdir(tmp_path)

    @ms.jit
    def broken(x):
        return ops.matmul(x, x)

    with pytest.raises((ValueError, RuntimeError, TypeError)):
        broken(ms.Tensor(np.zeros((2, 3), np.float32)))
    infer(prepare(runtime, SHALLOW, mode="inference", compiler="graph"))
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("precision", ["tf32", "bf16", "amp-bf16", "fp16", "amp-fp16", "int3"])
def test_precisions_that_cpu_lacks(runtime, precision):
    with pytest.raises(Unsupported):
        prepare(runtime, RESNET, precision=precision)


def test_unknown_rule(runtime):
    strange = dataclasses.replace(SHALLOW.optimizer, rule="lion")
    with pytest.raises(ValueError, match="no optimizer 'lion'"):
        prepare(runtime, dataclasses.replace(SHALLOW, optimizer=strange))
