"""MXNet's layers are oneDNN's, whose version 2 reports them in a format of its own."""

from __future__ import annotations

import pytest
from kernels import CONVOLUTIONS, count, evidence, told_by_profiler, x86_only

from mbench_mxnet.plugin import MXNet

pytest.importorskip("mxnet", reason="MXNet is not installed here")


@x86_only
def test_every_convolution_is_told_once(tmp_path):
    found = evidence(MXNet(), folder=tmp_path, mode="inference", compiler="hybrid")
    assert found.libraries["oneDNN"].startswith("2.")
    assert count(found, "convolution", propagation="forward") == CONVOLUTIONS
    assert count(found, "batch_normalization") == CONVOLUTIONS


def test_its_profiler_tells_operators(tmp_path):
    names = told_by_profiler(MXNet(), folder=tmp_path, mode="inference", compiler="eager")
    assert names["Convolution"] == CONVOLUTIONS
    assert names["BatchNorm"] == CONVOLUTIONS
