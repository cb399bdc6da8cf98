"""Keras' side of a worker on the backend that is installed here, on models that run in seconds."""

from __future__ import annotations

import dataclasses
import importlib
from functools import partial

import numpy as np
import pytest
import small
from small import BERT, losses, resnet

from mbench.cli.builtin import mbench_workloads
from mbench.contract.adapter import Unsupported
from mbench.workloads.find import find_workload

pytest.importorskip("mbench_keras", reason="Keras' adapter is not installed here")
keras = pytest.importorskip("keras", reason="Keras is not installed here")

RESNET = resnet(blocks=(1, 1), widths=(8, 16), stem=8, image_size=32)
SHALLOW = dataclasses.replace(BERT, config=dataclasses.replace(BERT.config, layers=1))


@pytest.fixture(scope="module")
def runtime():
    made = importlib.import_module(f"mbench_keras.on_{keras.config.backend()}")
    return made.Runtime(device="cpu", threads=2)


@pytest.fixture
def prepare(runtime):
    return partial(small.prepare, runtime, compiler=next(iter(runtime.compilers)))


def test_all_models_have_the_names_and_shapes_of_the_reference(runtime):
    names = ("resnet50", "resnext50_32x4d", "bert-base", "gpt2-small", "lstm-small", "vit-ti-16")
    for name in names:
        workload = find_workload(mbench_workloads()[name], name)
        expected = {tensor.name: tensor.shape for tensor in workload.tensors()}
        assert runtime.shapes(workload) == expected, name


def test_the_loss_is_that_of_the_step_and_not_of_all_so_far(prepare):
    """If losses were averaged over steps, the second would be the mean of both."""
    fresh = prepare(RESNET)
    first, second, third = losses(fresh, 3)
    fresh.load_parameters(RESNET.parameters(seed=0))
    assert losses(fresh, 3) == [first, second, third]
    assert first - second == pytest.approx(second - third, rel=0.5)


@pytest.mark.parametrize("workload", [RESNET, SHALLOW], ids=["resnet", "bert"])
def test_single_precision_is_near_double(prepare, workload):
    """float64 is composed in places, and leaves nothing behind for the next benchmark."""
    exact = prepare(workload, precision="fp64")
    expected = losses(exact, 2)
    assert float(np.float32(expected[0])) != expected[0]
    timed = prepare(workload)
    assert losses(timed, 2) == pytest.approx(expected, rel=1e-5)
    assert {dtype.dtype for _, dtype in timed.parameters()} == {np.dtype("float32")}


def test_running_variances_are_read_unbiased(prepare):
    """As in PyTorch, the new part of a variance is n / (n - 1) times what Keras averages."""
    made = prepare(RESNET, batch_size=2)
    before = dict(RESNET.parameters(seed=0))["bn1.running_var"]
    losses(made, 1)
    after = dict(made.parameters())["bn1.running_var"]
    (norm,) = [layer for layer in made.model.layers if layer.name == "bn1"]
    native = keras.ops.convert_to_numpy(norm.moving_variance.value)
    count = 2 * 16 * 16
    np.testing.assert_allclose(
        after - 0.9 * before, (native - 0.9 * before) * count / (count - 1), rtol=1e-4, atol=1e-6
    )
    assert not np.array_equal(after, native)


def test_masks_are_drawn_anew_at_each_step(prepare):
    workload = dataclasses.replace(SHALLOW, optimizer=SHALLOW.optimizer.plain_sgd(0.0))
    assert len(set(losses(prepare(workload, dropout=True), 3))) == 3


def test_another_backend_is_refused(runtime, monkeypatch):
    monkeypatch.setattr(runtime.adapter, "backend", "another")
    with pytest.raises(Unsupported, match="unset KERAS_BACKEND"):
        type(runtime)(device="cpu", threads=2)


def test_unknown_rule(prepare):
    strange = dataclasses.replace(SHALLOW.optimizer, rule="lion")
    with pytest.raises(ValueError, match="no optimizer 'lion'"):
        prepare(dataclasses.replace(SHALLOW, optimizer=strange))
