"""PaddlePaddle's convolutions are products by MKL, one for each sample."""

from __future__ import annotations

from collections import Counter

import pytest
from kernels import CONVOLUTIONS, count, evidence, told_by_profiler, x86_only

from mbench_paddle.plugin import PaddlePaddle

pytest.importorskip("paddle", reason="PaddlePaddle is not installed here")


@x86_only
def test_a_product_for_each_sample_of_each_convolution_and_one_more(tmp_path):
    found = evidence(PaddlePaddle(), folder=tmp_path, mode="inference", compiler="eager")
    assert list(found.libraries) == ["MKL"]
    assert count(found, "SGEMM") == 2 * CONVOLUTIONS + 1, "the classifier"


def test_its_profiler_tells_every_convolution_once(tmp_path):
    names = told_by_profiler(PaddlePaddle(), folder=tmp_path, mode="train", compiler="eager")
    called = Counter(name.partition("[")[0] for name in names.elements())
    assert called["conv2d kernel launch"] == CONVOLUTIONS
    assert called["conv2d_grad kernel launch"] == CONVOLUTIONS
