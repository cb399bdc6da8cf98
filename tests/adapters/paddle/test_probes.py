"""PaddlePaddle's probes do the work that they are timed for."""

from __future__ import annotations

import pytest

from mbench.contract.adapter import Unsupported

paddle = pytest.importorskip("paddle", reason="PaddlePaddle is not installed here")

from mbench_paddle.runtime import Runtime  # noqa: E402


@pytest.fixture(scope="module")
def runtime():
    return Runtime(device="cpu", threads=2)


def array(tensor):
    return tensor.astype("float64").numpy()


@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-5), ("fp64", 1e-12)])
def test_a_product_is_one(runtime, precision, tolerance):
    probe = runtime.matmul(32, precision)
    probe.step()
    probe.synchronize()
    a, b = probe.operands
    assert array(probe.result) == pytest.approx(array(a) @ array(b), rel=tolerance)
    assert probe.result.dtype == a.dtype


@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-5), ("fp64", 1e-12)])
def test_a_sum_is_in_place(runtime, precision, tolerance):
    probe = runtime.accumulate(1000, precision)
    a, b = probe.operands
    before = array(b).copy()
    for _ in range(2):
        probe.step()
    probe.synchronize()
    assert array(b) == pytest.approx(before + 2 * array(a), rel=tolerance)


@pytest.mark.parametrize("precision", ["tf32", "fp16", "amp-bf16", "bf16"])
def test_what_the_cpu_lacks_is_unsupported(runtime, precision):
    for make in (runtime.matmul, runtime.accumulate):
        with pytest.raises(Unsupported):
            make(32, precision)
