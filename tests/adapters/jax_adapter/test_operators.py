"""Operators in JAX."""

from __future__ import annotations

import pytest
from cases import make_case
from operators import OperatorsAlike

from mbench.scenarios.find import prepared, resolve, work_of

jax = pytest.importorskip("jax", reason="JAX is not installed here")


class TestOperators(OperatorsAlike):
    copies = ("to_device",)
    compilers = ("jit", "eager")


@pytest.mark.parametrize("mode", ["train", "inference"])
def test_a_loop_is_compiled_once_where_operations_run_one_by_one(runtime, mode):
    case = make_case(
        model="op:lstm/2x5x6x8", workload="mbench.workloads.operators:OPERATORS", mode=mode,
        batch_size=2, compiler="eager",
    )  # fmt: skip
    workload = resolve(case)
    benchmark = prepared(runtime, work_of(case)).benchmark
    benchmark.load_parameters(workload.parameters(seed=0))
    compiled = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, seconds, **_: compiled.append(event) if "backend_compile" in event else None
    )
    for batch in (0, 1):
        benchmark.step(batch)
        benchmark.synchronize()
    assert compiled
    compiled.clear()
    benchmark.step(0)
    benchmark.synchronize()
    assert compiled == []
