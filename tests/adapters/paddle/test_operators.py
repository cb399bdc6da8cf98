"""Operators in PaddlePaddle."""

from __future__ import annotations

import pytest
from cases import make_case
from operators import OperatorsAlike, assert_no_effect, assert_statistics_run

pytest.importorskip("paddle", reason="PaddlePaddle is not installed here")

from paddle.jit.sot.opcode_translator.executor.executor_cache import OpcodeExecutorCache

from mbench.scenarios.find import prepared, resolve, work_of
from mbench_paddle.plugin import PaddlePaddle
from mbench_paddle.runtime import Runtime

# PaddlePaddle warns of constant arguments, and of saved models without parameters.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Tensor do not have 'place' interface"),
    pytest.mark.filterwarnings("ignore:no variable in your model"),
]


@pytest.fixture(scope="module")
def runtime():
    return Runtime(device="cpu", threads=2)


class TestOperators(OperatorsAlike):
    compilers = ("eager", "static")
    for_inference = ("engine",)
    lacks = (("static", "lstm"),)  # it cannot be traced


@pytest.mark.parametrize("compiler", ["eager", "static"])
def test_a_batch_norm_learns_statistics(runtime, compiler):
    assert_statistics_run(runtime, compiler=compiler)


@pytest.mark.filterwarnings("ignore:amp_guard can only be enabled on CUDAPlace")
def test_precision_without_effect_is_unsupported(runtime, monkeypatch):
    monkeypatch.setattr(PaddlePaddle, "lacks", ())
    assert_no_effect(runtime)


def test_what_cases_before_took_to_compile_counts_for_none_after(runtime, monkeypatch):
    monkeypatch.setattr(OpcodeExecutorCache, "MAX_COMPILE_TIME_PER_CODE", 1e-9)
    for rows in (2, 3):
        case = make_case(
            model=f"op:add/{rows}x3", workload="mbench.workloads.operators:OPERATORS",
            mode="inference", batch_size=1, compiler="static", threads=2,
        )  # fmt: skip
        workload = resolve(case)
        benchmark = prepared(runtime, work_of(case)).benchmark
        benchmark.load_parameters(workload.parameters(seed=0))
        benchmark.step(0)
        assert set(benchmark.outputs()) == {"output.0"}
