"""MegEngine's side of a worker, on models that run in seconds."""

from __future__ import annotations

import dataclasses
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
from mbench.proofs.tolerances import FLOPS
from mbench.workloads.find import find_workload

pytest.importorskip("mbench_megengine", reason="MegEngine's adapter is not installed here")
pytest.importorskip("megengine", reason="MegEngine is not installed here")

import megengine as mge
from mbench_megengine import layers, parameters
from mbench_megengine.compiler import COMPILERS
from megengine import functional as F
from megengine import module as M
from megengine.autodiff import GradManager

RESNET = resnet(blocks=(1, 1), widths=(8, 16), stem=8, image_size=32)
SHALLOW = dataclasses.replace(BERT, config=dataclasses.replace(BERT.config, layers=1))
WORKLOADS = {"resnet": RESNET, "bert": SHALLOW}
FAMILIES = ("resnet18", "resnext50_32x4d", "bert-base", "alexnet", "vgg11_bn", "squeezenet1_0",
            "mobilenet_v2", "mnasnet0_5", "densenet121", "shufflenet_v2_x0_5", "googlenet",
            "inception_v3")  # fmt: skip
prepare = partial(small.prepare, compiler="eager")


@pytest.fixture(params=WORKLOADS)
def workload(request):
    return WORKLOADS[request.param]


class TestAlike(RuntimesAlike):
    version = mge.__version__
    others = ("megengine", "numpy")

    @staticmethod
    def finds_cuda():
        return mge.is_cuda_available()

    @pytest.mark.parametrize("precision", ["fp32"])
    def test_tiers_compute_the_same(self, runtime, workload, precision):
        """The tiers differ in the compiler alone."""
        for tier in (DEFAULT, TUNED):
            made = prepare(runtime, workload, precision=precision, tier=tier)
            assert runtime.adapter.tiers[tier].source in made.differences[0]


def test_compilers_agree(runtime, workload):
    expected = losses(prepare(runtime, workload), 4)
    assert len(set(expected)) == 4
    compiled = prepare(runtime, workload, compiler="trace")
    assert losses(compiled, 4) == pytest.approx(expected, rel=1e-6)
    compiled.load_parameters(workload.parameters(seed=0))
    assert losses(compiled, 4) == pytest.approx(expected, rel=1e-6)


def test_a_graph_takes_parameters_and_each_batch_as_they_come(runtime, workload):
    found = []
    for compiler in COMPILERS:
        made = prepare(runtime, workload, mode="inference", compiler=compiler)
        outputs = []
        for seed in (0, 1):
            made.load_parameters(workload.parameters(seed=seed))
            for at in (0, 1, 2):
                made.step(at)
                made.synchronize()
                outputs.append(np.concatenate([each.ravel() for each in made.outputs().values()]))
        found.append(np.stack(outputs))
    assert len({str(each) for each in found[0]}) == 6
    np.testing.assert_allclose(found[1], found[0], rtol=1e-4, atol=1e-6)


def test_a_graph_is_compiled_before_its_first_step(runtime):
    made = prepare(runtime, RESNET, compiler="trace")
    begun = time.perf_counter()
    losses(made, 1)
    first = time.perf_counter() - begun
    begun = time.perf_counter()
    losses(made, 3)
    assert first < 5 * (time.perf_counter() - begun)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_masks_are_drawn_anew_at_each_step(runtime, compiler):
    workload = dataclasses.replace(SHALLOW, optimizer=SHALLOW.optimizer.plain_sgd(0.0))
    made = prepare(runtime, workload, dropout=True, compiler=compiler)
    assert len(set(losses(made, 4))) == 4


@pytest.mark.parametrize("compiler", COMPILERS)
def test_layers_drop_apart(runtime, compiler):
    """In a graph, layers of megengine.module share a generator and drop the same elements."""
    model = M.Sequential(layers.Dropout(0.5), layers.Dropout(0.5))
    model.train()
    layers.seed(model, 0)
    ones = mge.Tensor(np.ones(1000, np.float32))
    run = COMPILERS[compiler]("cpu").compile(lambda x: (model[0](x), model[1](x)))
    for _ in range(3):
        one, other = (dropped.numpy() for dropped in run(ones))
        assert set(np.unique(one)) == {0.0, 2.0}
        assert 300 < np.sum(one != other) < 700


def test_seeds_take_effect(runtime):
    found = [losses(prepare(runtime, SHALLOW, dropout=True, seed=seed), 1) for seed in (0, 0, 1)]
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize("model", FAMILIES)
def test_a_family_has_the_names_and_shapes_of_the_reference(runtime, model):
    workload = find_workload(mbench_workloads()[model], model)
    own = parameters.named(runtime.family(workload).build(workload.config))
    found = {name: (native.shape, native.trainable) for name, native in own.items()}
    assert found == {one.name: (one.shape, one.trainable) for one in workload.tensors()}


@pytest.mark.parametrize(
    "model",
    [
        # 133 million parameters; its layers are those of AlexNet, and batch norm
        pytest.param(model, marks=pytest.mark.thorough) if model == "vgg11_bn" else model
        for model in FAMILIES
    ],
)
def test_a_family_computes_the_same_as_a_graph(runtime, model):
    """At the size of its proof, pooling regions and windows differ from those of the usual size."""
    whole = find_workload(mbench_workloads()[model], model)
    workload = whole.resized(**whole.proof["sizes"])
    eager, traced = (
        infer(prepare(runtime, workload, mode="inference", batch_size=1, compiler=compiler))
        for compiler in COMPILERS
    )
    assert eager.keys() == traced.keys()
    for name, due in eager.items():
        assert np.isfinite(due).all()
        np.testing.assert_allclose(traced[name], due, rtol=1e-3, atol=1e-5 * np.abs(due).max())


def test_flops_are_counted_of_images(runtime):
    made = prepare(runtime, RESNET, mode="inference")
    assert made.counted_flops() == pytest.approx(RESNET.forward_flops(), rel=FLOPS)
    assert prepare(runtime, SHALLOW, mode="inference").counted_flops() is None


def test_a_window_may_jut_out():
    images = np.arange(36, dtype=np.float32).reshape(1, 1, 6, 6)
    found = layers.MaxPool(3, ceil=True)(mge.Tensor(images)).numpy()
    np.testing.assert_array_equal(found[0, 0], [[14, 16, 17], [26, 28, 29], [32, 34, 35]])


@pytest.mark.parametrize("compiler", COMPILERS)
def test_ties_share_a_gradient(runtime, compiler):
    """A pixel in several windows of the first pool is in its output several times, so that windows
    of the second pool have ties.

    The maximum of such a window is that of all pixels behind it, which gets the whole gradient.
    """
    images = np.random.default_rng(0).uniform(1, 2, (2, 3, 9, 9)).astype(np.float32)
    weights = np.random.default_rng(1).normal(size=(2, 3, 4, 4)).astype(np.float32)
    due = np.zeros_like(images)
    for image, channel, row, column in np.ndindex(weights.shape):
        top, left = max(2 * row - 2, 0), max(2 * column - 2, 0)
        seen = images[image, channel, top : 2 * row + 5, left : 2 * column + 5]
        down, across = np.unravel_index(seen.argmax(), seen.shape)
        due[image, channel, top + down, left + across] += weights[image, channel, row, column]
    first, next_one = layers.MaxPool(3), layers.MaxPool(3, stride=1, padding=1, ties=True)
    x, w = mge.Parameter(images), mge.Tensor(weights)
    manager = GradManager().attach([x])

    def gradient():
        with manager:
            manager.backward(F.sum(next_one(first(x)) * w))
        found = x.grad
        x.grad = None
        return found

    run = COMPILERS[compiler]("cpu").compile(gradient)
    for _ in range(3):
        np.testing.assert_allclose(run().numpy(), due, rtol=1e-5, atol=1e-6)


def test_regions_are_those_of_the_reference():
    """With only 3 pixels a side, 6 regions overlap."""
    images = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)
    found = layers.Regions(6)(mge.Tensor(images)).numpy()[0, 0]
    np.testing.assert_allclose(found[0], [0, 0, 1, 1, 2, 2])
    np.testing.assert_allclose(found[:, 0], [0, 0, 3, 3, 6, 6])


def test_gelu_is_the_exact_one():
    assert F.nn.gelu(mge.Tensor(np.float32(1))).numpy() == pytest.approx(0.8413447, rel=1e-6)


def test_float64_is_none():
    """This is why the adapter refuses fp64; if this test fails, it no longer needs to."""
    assert mge.Tensor(np.zeros(2, np.float64)).dtype == np.float32
    with pytest.raises(RuntimeError):
        mge.Tensor(np.zeros(2), dtype=np.float64)


@pytest.mark.parametrize("precision", ["fp64", "tf32", "bf16", "amp-bf16", "fp16", "amp-fp16"])
def test_precisions_that_it_lacks(runtime, precision):
    with pytest.raises(Unsupported):
        prepare(runtime, RESNET, precision=precision)


def test_what_does_not_fit_is_out_of_memory(runtime):
    """MegEngine raises when it synchronizes, and the reason is the cause of what it raises."""
    vast = F.broadcast_to(mge.Tensor(np.float32(1)), (2**20, 2**10, 2**10)) + 1
    with pytest.raises(RuntimeError) as raised:
        mge._full_sync()
    del vast
    assert "malloc" not in str(raised.value)
    assert runtime.is_out_of_memory(raised.value)
    assert not runtime.is_out_of_memory(ValueError("of a wrong shape"))
    assert (mge.Tensor(np.ones(2, np.float32)) + 1).numpy().tolist() == [2.0, 2.0]


def test_unknown_rule(runtime):
    strange = dataclasses.replace(SHALLOW.optimizer, rule="lion")
    with pytest.raises(ValueError, match="no optimizer 'lion'"):
        prepare(runtime, dataclasses.replace(SHALLOW, optimizer=strange))
