"""MXNet's probes do the work that they are timed for."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings

import pytest

from mbench.contract.adapter import Unsupported

os.environ["OMP_NUM_THREADS"] = "2"  # which MXNet reads when it is imported
with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # it uses NumPy's aliases of types
    mx = pytest.importorskip("mxnet", reason="MXNet is not installed here")

from mbench_mxnet.runtime import Runtime

# It imports parts of SciPy, where that is installed, when it first meets an array.
pytestmark = pytest.mark.filterwarnings("ignore:Please import .csr_matrix.:DeprecationWarning")


@pytest.fixture(scope="module")
def runtime():
    return Runtime(device="cpu", threads=2)


def array(tensor):
    return tensor.astype("float64").asnumpy()


@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-5), ("fp64", 1e-12)])
def test_a_product_is_one(runtime, precision, tolerance):
    probe = runtime.matmul(32, precision)
    probe.step()
    probe.synchronize()
    a, b = probe.operands
    assert array(probe.result) == pytest.approx(array(a) @ array(b).T, rel=tolerance)
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


@pytest.mark.parametrize("precision", ["tf32", "fp16", "bf16"])
def test_what_the_cpu_lacks_is_unsupported(runtime, precision):
    for make in (runtime.matmul, runtime.accumulate):
        with pytest.raises(Unsupported):
            make(32, precision)


BFLOAT16 = """
from mbench_mxnet.runtime import Runtime
runtime = Runtime(device="cpu", threads=2)
array = lambda tensor: tensor.astype("float32").asnumpy()
product, total = runtime.matmul(32, "amp-bf16"), runtime.accumulate(1000, "amp-bf16")
(a, b), (one, other) = product.operands, total.operands
before = array(other)
for probe in (product, total):
    probe.step()
    probe.synchronize()
exact, found = array(a) @ array(b).T, array(product.result)
assert abs(found / exact - 1).max() < 2e-2, (found, exact)
assert abs(array(other) - before - array(one)).max() < 2e-2
print(a.dtype, other.dtype)
"""


def test_bfloat16_is_that_of_amp():
    """In a process of its own, for AMP has no way back."""
    found = subprocess.run(
        [sys.executable, "-c", BFLOAT16], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    assert "bfloat16" in found.stdout
