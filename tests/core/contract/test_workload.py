"""What all workloads have in common."""

from __future__ import annotations

import numpy as np
import pytest
from mbench_tiny import TINY

from mbench.cli.builtin import mbench_workloads
from mbench.contract.workload import Tensor
from mbench.workloads.find import find_workload

ALL = [TINY, *(find_workload(reference, name) for name, reference in mbench_workloads().items())]
WORKLOADS = pytest.mark.parametrize("workload", ALL, ids=lambda w: w.name)


@WORKLOADS
def test_names_are_distinct(workload):
    names = [tensor.name for tensor in workload.tensors()]
    assert len(set(names)) == len(names)


def besides_positions(workload):
    tensors = [t for t in workload.tensors() if not t.name.endswith("pos_embedding")]
    return sum(tensor.size for tensor in tensors if tensor.trainable)


@WORKLOADS
def test_proof_sizes_fit(workload):
    """Tensors may be smaller if those of the whole model are compared by shape. A table of
    positions is as long as a proof's images need: timed processes load the whole table.
    """
    if "layers" not in workload.proof and not workload.proof.get("by_shape"):
        resized = workload.resized(**workload.proof.get("sizes", {}))
        assert besides_positions(resized) == besides_positions(workload)
    assert workload.proof["learning_rate"] > workload.optimizer.learning_rate / 2


@pytest.mark.parametrize(("scale", "center"), [(0.5, 0.0), (0.1, 1.0), (0.025, 0.25)])
def test_starting_values_fill_their_interval(scale, center):
    drawn = TINY.initial(Tensor("w", (50, 400), scale, center), seed=0)
    assert drawn.dtype == np.float32
    assert center - scale <= drawn.min() < center - 0.99 * scale
    assert center + 0.99 * scale < drawn.max() <= center + scale


def test_parameters_are_drawn_by_name_and_seed():
    drawn = dict(TINY.parameters(seed=1))
    assert {name: array.shape for name, array in drawn.items()} == {
        "weight": (64, 256),
        "bias": (64,),
    }
    for tensor in TINY.tensors():
        assert np.array_equal(drawn[tensor.name], TINY.initial(tensor, seed=1))
        assert not np.array_equal(drawn[tensor.name], TINY.initial(tensor, seed=0))


def test_size_of_a_tensor():
    assert Tensor("w", (64, 3, 7, 7), 1.0).size == 9408
    assert Tensor("scalar", (), 1.0).size == 1
