"""Tests that all adapters have in common: operators compute their definitions, in float64."""

from __future__ import annotations

import numpy as np
import pytest
from cases import make_case

from mbench.contract.adapter import Unsupported
from mbench.proofs.changes import updated
from mbench.proofs.proof_case import proof_work
from mbench.scenarios.find import prepared, resolve, work_of

__all__ = ["NAMES", "OperatorsAlike", "assert_no_effect", "assert_statistics_run"]

NAMES = (
    "op:matmul/5x7x6", "op:bmm/2x5x7x6", "op:linear/5x16x6", "op:conv2d/2x8x9x7-o6-k3-s2-p1-g2",
    "op:conv2d/2x8x9x9-o16-k1", "op:conv2d/2x8x9x9-o8-k3-p1-g8", "op:attention/2x5x3x4",
    "op:batch_norm/3x4x5x5", "op:layer_norm/5x16", "op:softmax/5x9",
    "op:cross_entropy/5x9", "op:relu/5x9", "op:gelu/5x9", "op:add/5x9", "op:empty/5x9",
    "op:max_pool/2x4x9x9-k3-s2-p1", "op:max_pool/2x4x8x8-k2-s2",
    "op:mean_pool/2x4x6x6", "op:embedding/9x12x8", "op:lstm/2x5x6x8", "op:linear/5x16x6-b0",
    "op:rms_norm/5x16", "op:rotary/2x5x3x8", "op:grouped_attention/2x5x5x6x2x4",
    "op:grouped_attention/2x1x5x6x2x4", "op:swiglu/5x9", "op:embedding_bag/5x3x12x8",
)  # fmt: skip
GATE = 1e-12


class OperatorsAlike:
    """Base of an adapter's tests. `compilers` are tried with each operator, `slow` ones with one
    operator in training and with updates, those `for_inference` in inference only.
    """

    compilers: tuple[str, ...]
    slow: tuple[str, ...] = ()
    for_inference: tuple[str, ...] = ()
    lacks: tuple[tuple[str, str], ...] = ()
    """Pairs of a compiler and a kind of operator that it does not support."""

    @pytest.mark.filterwarnings("ignore::DeprecationWarning")
    @pytest.mark.parametrize("mode", ["train", "inference"])
    @pytest.mark.parametrize("name", NAMES)
    def test_it_is_its_definition(self, runtime, name, mode):
        slow = self.slow if (name, mode) == (NAMES[3], "train") else ()
        inferring = self.for_inference if mode == "inference" else ()
        for compiler in (*self.compilers, *slow, *inferring):
            case = make_case(
                model=name, workload="mbench.workloads.operators:OPERATORS", batch_size=2,
                mode=mode, precision="fp64", compiler=compiler, threads=2,
            )  # fmt: skip
            workload = resolve(case)
            benchmark = prepared(runtime, work_of(case)).benchmark
            if (compiler, workload.config.kind) in self.lacks:
                with pytest.raises(Unsupported):
                    benchmark.step(0)
                continue
            if workload.config.kind == "empty":
                assert not benchmark.counted_flops()
            for seed, batch in ((0, 0), (1, 1), (1, 0)):
                benchmark.load_parameters(workload.parameters(seed=seed))
                benchmark.step(batch)
                benchmark.synchronize()
                found = benchmark.outputs()
                expected = workload.answers(seed=seed, batch=batch)
                assert set(found) == set(expected), compiler
                for output, array in expected.items():
                    assert found[output].shape == array.shape, f"{output} under {compiler}"
                    assert found[output].dtype == np.float64
                    error = np.abs(found[output] - array).max() / np.abs(array).max()
                    assert error <= GATE, f"{output} under {compiler} of batch {batch}"

    @pytest.mark.parametrize("kind", ["sgd", "adamw"])
    def test_an_update_is_its_rule(self, runtime, kind):
        """The optimizer updates two sets of parameters by given gradients, which stay the same."""
        for compiler in (*self.compilers, *self.slow):
            case = make_case(
                model=f"op:{kind}/50", workload="mbench.workloads.operators:OPERATORS",
                batch_size=2, precision="fp64", compiler=compiler, threads=2,
            )  # fmt: skip
            work = proof_work(case, learning_rate=4.0)
            workload = resolve(case, work)
            steps = prepared(runtime, work_of(case, proof=work))
            benchmark = steps.benchmark
            assert benchmark.trainable_parameters() == 100
            gradients = [workload.gradients(seed=batch) for batch in (0, 1, 0)]
            for seed in (0, 1):
                weights = dict(workload.parameters(seed=seed))
                decays = dict.fromkeys(weights, workload.optimizer.weight_decay)
                benchmark.load_parameters(weights.items())
                due = updated(workload.optimizer, weights, decays, gradients)
                for batch, expected in zip((0, 1, 0), due, strict=True):
                    benchmark.step(batch)
                    benchmark.synchronize()
                    found = dict(benchmark.parameters())
                    assert found.keys() == expected.keys()
                    given = workload.gradients(seed=batch)
                    for name, array in expected.items():
                        assert found[name].dtype == np.float64
                        np.testing.assert_allclose(found[name], array, rtol=1e-11, atol=1e-11)
                    loss = sum(given[name] @ array for name, array in found.items())
                    evidence = steps.work.scenario.observe(steps)
                    assert evidence.loss == pytest.approx(loss, rel=1e-9, abs=1e-9)

    copies = ("to_device", "from_device")

    @pytest.mark.parametrize("kind", ["to_device", "from_device"])
    def test_a_copy_is_one(self, runtime, kind):
        case = make_case(
            model=f"op:{kind}/5x9", workload="mbench.workloads.operators:OPERATORS", batch_size=2,
            mode="inference", precision="fp64", compiler=self.compilers[0], threads=2,
        )  # fmt: skip
        workload = resolve(case)
        if kind not in self.copies:
            with pytest.raises(Unsupported):
                prepared(runtime, work_of(case))
            return
        benchmark = prepared(runtime, work_of(case)).benchmark
        for batch in (0, 1):
            benchmark.step(batch)
            benchmark.synchronize()
            found, expected = benchmark.outputs(), workload.answers(seed=0, batch=batch)
            assert set(found) == set(expected)
            for name, array in expected.items():
                np.testing.assert_array_equal(found[name], array)


def assert_statistics_run(runtime, *, compiler):
    """Assert that a batch norm's statistics take a share of 0.1 from its own batch in each step."""
    case = make_case(
        model="op:batch_norm/3x4x5x5", workload="mbench.workloads.operators:OPERATORS",
        batch_size=2, precision="fp64", compiler=compiler, threads=2,
    )  # fmt: skip
    workload = resolve(case)
    benchmark = prepared(runtime, work_of(case)).benchmark
    benchmark.load_parameters(workload.parameters(seed=0))
    expected = dict(workload.parameters(seed=0))
    for batch in (0, 1):
        benchmark.step(batch)
        for call in (0, 1):
            images = workload.batch(2, seed=batch)[f"x.{call}"].astype(np.float64)
            for name, new in (("mean", images.mean((0, 2, 3))), ("var", unbiased(images))):
                name = f"calls.{call}.running_{name}"
                expected[name] = 0.9 * expected[name].astype(np.float64) + 0.1 * new
    for name, array in benchmark.parameters():
        np.testing.assert_allclose(array, expected[name], rtol=1e-12, atol=1e-12)


def unbiased(images):
    return images.var((0, 2, 3), ddof=1)


def assert_no_effect(runtime):
    """Assert that mixed precision is unsupported where no product runs: outputs show no effect."""
    case = make_case(
        model="op:relu/5x9", workload="mbench.workloads.operators:OPERATORS",
        precision="amp-bf16", threads=2,
    )  # fmt: skip
    with pytest.raises(Unsupported, match=r"amp-bf16 has no effect here: .*float32"):
        prepared(runtime, work_of(case))
