"""Layers of MXNet's models agree with their definitions, written out in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

mx = pytest.importorskip("mxnet", reason="MXNet is not installed here")

from mbench_mxnet.layers import LayerNorm  # noqa: E402

# MXNet imports parts of SciPy, if that is installed, when it first meets an array.
pytestmark = pytest.mark.filterwarnings("ignore:Please import .csr_matrix.:DeprecationWarning")

EPSILON = 1e-5


def test_layer_norm_is_exact_in_fp64():
    """The input's variance is only a few epsilons; the gradient is checked, too."""
    random = np.random.default_rng(0)
    x, slope = 0.005 * random.standard_normal((4, 64)), random.standard_normal((4, 64))
    scale = 1 / np.sqrt(x.var(axis=1, keepdims=True) + EPSILON)
    expected = (x - x.mean(axis=1, keepdims=True)) * scale
    along = expected * (slope * expected).mean(axis=1, keepdims=True)
    gradient = scale * (slope - slope.mean(axis=1, keepdims=True) - along)

    norm = LayerNorm(epsilon=EPSILON, in_channels=64)
    norm.cast("float64")
    norm.initialize()
    inputs = mx.nd.array(x, dtype="float64")
    inputs.attach_grad()
    with mx.autograd.record():
        found = norm(inputs)
    found.backward(mx.nd.array(slope, dtype="float64"))
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=0, atol=1e-13)
    np.testing.assert_allclose(inputs.grad.asnumpy(), gradient, rtol=0, atol=1e-11)
