"""Operators in MXNet."""

from __future__ import annotations

import pytest
from operators import OperatorsAlike, assert_no_effect, assert_statistics_run

pytest.importorskip("mxnet", reason="MXNet is not installed here")

from mbench_mxnet.runtime import Runtime

# MXNet imports parts of SciPy, if that is installed, when it first meets an array.
pytestmark = pytest.mark.filterwarnings("ignore:Please import .csr_matrix.:DeprecationWarning")


@pytest.fixture(scope="module")
def runtime():
    return Runtime(device="cpu", threads=2)


class TestOperators(OperatorsAlike):
    compilers = ("hybrid", "eager")
    for_inference = ("onednn",)


@pytest.mark.parametrize("compiler", ["eager", "hybrid"])
def test_a_batch_norm_learns_statistics(runtime, compiler):
    assert_statistics_run(runtime, compiler=compiler)


def test_precision_without_effect_is_unsupported(runtime, monkeypatch):
    monkeypatch.setattr("mbench_mxnet.precision.amp.init", lambda target_dtype: None)
    monkeypatch.setattr("mbench_mxnet.precision.rewritten_for", None)
    monkeypatch.setattr("mbench_mxnet.precision.has_bfloat16", lambda: True)
    assert_no_effect(runtime)
