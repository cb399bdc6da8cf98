"""Layers that the adapter makes exact in float64, where PaddlePaddle's kernels are not."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

paddle = pytest.importorskip("paddle", reason="PaddlePaddle is not installed here")

from paddle import nn  # noqa: E402
from paddle.nn import functional  # noqa: E402

from mbench.contract.precision import PRECISIONS  # noqa: E402
from mbench.workloads.resnet import RESNET50  # noqa: E402
from mbench_paddle.layers import AveragePool, held, layer_norm  # noqa: E402
from mbench_paddle.models import resnet  # noqa: E402
from mbench_paddle.precision import built  # noqa: E402


@pytest.fixture
def like_cuda(monkeypatch):
    """Makes the gradient of an average exact in float64, as that of the kernel for CUDA."""

    def avg_pool2d(x, kernel_size, *, stride=None, padding=0, exclusive):
        assert not padding
        assert not exclusive
        columns = functional.unfold(x, kernel_size, strides=stride or kernel_size)
        side = (x.shape[2] - kernel_size) // (stride or kernel_size) + 1
        means = columns.reshape([*x.shape[:2], kernel_size**2, side, side]).sum(2)
        return means / paddle.full([], kernel_size**2, dtype=x.dtype)

    monkeypatch.setattr(functional, "avg_pool2d", avg_pool2d)


def gradient_of_one_mean(kernel):
    pool = built(partial(AveragePool, kernel), PRECISIONS["fp64"])
    x = paddle.ones([1, 1, kernel, kernel], "float64")
    x.stop_gradient = False
    pool(x).sum().backward()
    return x.grad.numpy()


@pytest.mark.parametrize("kernel", [3, 5])
def test_an_average_is_exact_in_float64(kernel):
    np.testing.assert_allclose(gradient_of_one_mean(kernel), 1 / kernel**2, rtol=1e-14)


@pytest.mark.parametrize("kernel", [3, 5])
@pytest.mark.usefixtures("like_cuda")
def test_a_kernel_that_is_exact_is_left_alone(kernel):
    np.testing.assert_allclose(gradient_of_one_mean(kernel), 1 / kernel**2, rtol=1e-14)
    assert built(partial(AveragePool, kernel), PRECISIONS["fp64"])._lost == 0


def test_the_cpus_kernel_has_the_share_in_float32():
    share = 1 / 9
    lost = built(partial(AveragePool, 3), PRECISIONS["fp64"])._lost
    assert lost == pytest.approx(share / held(share) - 1, rel=1e-6)
    assert built(partial(AveragePool, 3), PRECISIONS["fp32"])._lost == 0


def test_norms_are_paddle_nns_own_classes_but_in_float64():
    """to_static's checks of other layers before each step take 0.5 % of a ResNet's time."""

    def kinds(name):
        model = built(partial(resnet.build, RESNET50.config), PRECISIONS[name])
        found = {type(layer) for layer in model.sublayers() if isinstance(layer, nn.BatchNorm2D)}
        return found | {type(built(partial(layer_norm, 8, epsilon=1e-5), PRECISIONS[name]))}

    assert kinds("fp32") == kinds("amp-bf16") == {nn.BatchNorm2D, nn.LayerNorm}
    assert not kinds("fp64") & {nn.BatchNorm2D, nn.LayerNorm}
