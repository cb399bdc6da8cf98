"""Operators in TensorFlow."""

from __future__ import annotations

import numpy as np
import pytest
from cases import make_case
from operators import OperatorsAlike

from mbench.contract.adapter import Unsupported
from mbench.scenarios.find import prepared, resolve, work_of

tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed here")


class TestOperators(OperatorsAlike):
    compilers = ("graph", "eager")
    slow = ("xla",)


def has_grouped_gradients():
    """Whether TensorFlow itself has gradients of grouped convolutions on this processor."""
    images, kernel = tf.ones((2, 4, 4, 8)), tf.ones((3, 3, 4, 6))
    with tf.GradientTape() as tape:
        tape.watch(images)
        output = tf.nn.conv2d(images, kernel, 1, "SAME")
    try:
        tape.gradient(output, images)
    except tf.errors.InvalidArgumentError:
        return False
    return True


@pytest.mark.parametrize("compiler", ["graph", "eager", "xla"])
def test_gradients_of_groups_are_there_or_refused(runtime, compiler):
    case = make_case(
        model="op:conv2d/2x8x4x4-o6-k3-p1-g2",
        workload="mbench.workloads.operators:OPERATORS",
        compiler=compiler,
        batch_size=1,
    )
    workload = resolve(case)
    if compiler != "xla" and not has_grouped_gradients():
        with pytest.raises(
            Unsupported, match=r"grouped convolutions in float32 .* TF_ENABLE_ONEDNN_OPTS=1"
        ):
            prepared(runtime, work_of(case))
        return
    benchmark = prepared(runtime, work_of(case)).benchmark
    benchmark.load_parameters(workload.parameters(seed=0))
    benchmark.step(0)
    found = benchmark.outputs()
    for name, array in workload.answers(seed=0, batch=0).items():
        assert np.allclose(found[name], array, atol=1e-5), name
