"""MXNet's fused kernels compute the same updates as the composed rules."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from small import BERT, resnet

mx = pytest.importorskip("mxnet", reason="MXNet is not installed here")

from mbench_mxnet.optimizer import slot as slot_of  # noqa: E402
from mbench_mxnet.rules import RULES  # noqa: E402

# MXNet imports parts of SciPy, if that is installed, when it first meets an array.
pytestmark = pytest.mark.filterwarnings("ignore:Please import .csr_matrix.:DeprecationWarning")

SPECS = {"sgd": resnet().optimizer, "adamw": BERT.optimizer}


def weights_after(rule, dtypes, *, exact=False, aggregate=1, momentum=0.9, clipped=False):
    """The weights after three steps of a rule on small parameters, one without weight decay.

    The learning rate changes in each step: the kernel's velocity contains it.
    """
    spec = dataclasses.replace(SPECS[rule], learning_rate=0.1, momentum=momentum)
    rule = RULES[rule][exact]
    random = np.random.default_rng(0)
    slots, gradients = [], []
    for dtype, shape, decay in zip(dtypes, ((3, 4), (5,), (2, 2, 2)), (0.1, 0.0, 0.1), strict=True):
        weight, gradient = (random.standard_normal(shape).astype(np.float16) for _ in range(2))
        parameter = mx.gluon.Parameter("any", shape=shape, dtype=dtype)
        parameter.initialize(mx.init.Zero())
        parameter.set_data(mx.nd.array(weight, dtype=dtype))
        slots.append(slot_of(parameter, decay, rule.states(spec)))
        if slots[-1].mixed:
            slots[-1].kept[-1][:] = mx.nd.array(weight)
        gradients.append(mx.nd.array(gradient, dtype=dtype))
    update = rule(spec, slots, aggregate)
    for step in (1, 2, 3):
        for slot, gradient in zip(slots, gradients, strict=True):
            slot.gradient[:] = gradient
        update.set_rate((0.2, 0.05, 0.1)[step - 1])
        update(mx.nd.array([0.5]) if clipped else 0.5, step)
    return [slot.weight.asnumpy().astype(np.float64) for slot in slots]


def test_a_kernel_is_told_nothing_that_is_so_by_default(monkeypatch):
    """Each keyword becomes text for each parameter in each step, on a core that the step needs."""
    told = []
    monkeypatch.setattr(mx.nd, "sgd_mom_update", lambda *arrays, **words: told.append({*words}))
    parameter = mx.gluon.Parameter("any", shape=(2,))
    parameter.initialize()
    slots = [slot_of(parameter, decay, 1) for decay in (0.1, 0.0)]
    update = RULES["sgd"][False](SPECS["sgd"], slots, 1)
    update(1.0, 1)
    update(0.5, 2)
    least = {"out", "lr", "momentum"}
    scaled = least | {"rescale_grad"}
    assert told == [least | {"wd"}, least, scaled | {"wd"}, scaled]


@pytest.mark.parametrize("rule", ["sgd", "adamw"])
@pytest.mark.parametrize("momentum", [0.9, 0.0])
@pytest.mark.parametrize("aggregate", [1, 2])
@pytest.mark.parametrize("clipped", [False, True])
@pytest.mark.parametrize(
    ("dtypes", "tolerance"),
    [(["float32"] * 3, 1e-6), (["float16", "float32", "float16"], 1e-3)],
    ids=["fp32", "fp16"],
)
def test_kernels_follow_the_exact_rule(rule, momentum, aggregate, clipped, dtypes, tolerance):
    """Kernels for CUDA are tried, too: they run on the CPU. Batch norm stays float32."""
    if (rule, aggregate) == ("adamw", 2):
        tolerance = max(tolerance, 1e-4)
    found = weights_after(rule, dtypes, aggregate=aggregate, momentum=momentum, clipped=clipped)
    exact = weights_after(rule, ["float64"] * 3, exact=True, momentum=momentum)
    for one, other in zip(found, exact, strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
