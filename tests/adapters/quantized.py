"""Tests of int8 in an adapter: it multiplies by the core's integers, and rounds activations."""

from __future__ import annotations

import numpy as np
import pytest
from cases import make_case

from mbench.contract.adapter import Unsupported
from mbench.contract.quantized import integers_of, linear_weights, whole
from mbench.contract.tier import DEFAULT, tier_of
from mbench.proofs.tolerances import TIMED
from mbench.scenarios.find import prepared, resolve, work_of

__all__ = ["QuantizedAlike", "case_of", "outputs_of"]

EXACT = 1e-5
"""The error of single precision, which int8 must exceed."""


def case_of(runtime, model, mode, precision):
    return make_case(
        model=model, workload="proven:MODELS", mode=mode, batch_size=2, precision=precision,
        threads=2, compiler=tier_of(runtime.adapter, DEFAULT).order("cpu")[0],
    )  # fmt: skip


def outputs_of(runtime, case, weights):
    steps = prepared(runtime, work_of(case))
    steps.benchmark.load_parameters(weights.items())
    steps.run(0)
    steps.synchronize()
    return steps.benchmark, steps.work.scenario.observe(steps).outputs


class QuantizedAlike:
    """Base of an adapter's tests."""

    @pytest.mark.parametrize(
        ("model", "mode"),
        [("small-bert", "inference"), ("small-vit", "inference"), ("small-llama", "decode")],
    )
    def test_products_are_of_the_cores_integers(self, runtime, model, mode):
        """The remaining error is that of rounding activations, which must take place."""
        case = case_of(runtime, model, mode, "int8")
        workload = resolve(case)
        weights = dict(workload.parameters(seed=1))
        try:
            benchmark, found = outputs_of(runtime, case, weights)
        except Unsupported as lack:  # by the processor
            pytest.skip(str(lack))
        held = dict(benchmark.integers())
        due = {one.name: integers_of(weights[one.name]) for one in linear_weights(workload)}
        assert held.keys() == due.keys()
        for name, arrays in due.items():
            for own, given in zip(held[name], arrays, strict=True):
                assert own.dtype == given.dtype
                np.testing.assert_array_equal(own, given)
        rounded = {**weights, **{name: whole(*arrays) for name, arrays in due.items()}}
        _, single = outputs_of(runtime, case_of(runtime, model, mode, "fp32"), rounded)
        _, exact = outputs_of(runtime, case_of(runtime, model, mode, "fp32"), weights)
        assert found.keys() == exact.keys()
        for name, array in exact.items():
            norm = np.linalg.norm(array)
            by_activations = np.linalg.norm(found[name] - single[name]) / norm
            together = np.linalg.norm(found[name] - array) / norm
            assert EXACT < by_activations < TIMED["int8"], name
            assert EXACT < together < TIMED["int8"], name
