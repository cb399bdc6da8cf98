"""PyTorch's convolutions are oneDNN's, and its products MKL's, as these libraries report."""

from __future__ import annotations

import pytest
from kernels import CONVOLUTIONS, count, evidence, told_by_profiler, x86_only

from mbench_pytorch.plugin import PyTorch

pytest.importorskip("torch", reason="PyTorch is not installed here")


@x86_only
def test_every_convolution_of_a_step_and_its_gradients_are_told_once(tmp_path):
    found = evidence(PyTorch(), folder=tmp_path, mode="train", compiler="eager")
    assert found.libraries["oneDNN"].startswith("3.")
    assert count(found, "convolution", propagation="forward") == CONVOLUTIONS
    assert count(found, "convolution", propagation="backward_weights") == CONVOLUTIONS
    assert count(found, "convolution", propagation="backward_data") == CONVOLUTIONS - 1
    assert count(found, "reorder") >= CONVOLUTIONS, "weights come as they are"
    if "MKL" in found.libraries:
        assert count(found, "SGEMM") == 3, "the classifier and its two gradients"


def test_its_profiler_tells_every_convolution_once(tmp_path):
    names = told_by_profiler(PyTorch(), folder=tmp_path, mode="train", compiler="eager")
    assert names["aten::convolution"] == CONVOLUTIONS
    assert names["aten::convolution_backward"] == CONVOLUTIONS
