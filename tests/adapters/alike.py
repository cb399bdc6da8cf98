"""Tests that the runtimes of all adapters have in common."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cases import make_case
from small import losses, prepare

from mbench.contract.adapter import Unsupported
from mbench.contract.precision import PRECISIONS
from mbench.contract.tier import DEFAULT, TUNED
from mbench.sdk import tensors
from mbench.worker.evidence import MOST_SKIPPED
from mbench.workloads.find import operator_case

__all__ = ["TOLERANCES", "RuntimesAlike", "ScalersAlike"]

LARGE = 2.0**20
"""Losses are multiplied by it, so that float32 gradients overflow at the largest loss scale."""
TOLERANCES = {"fp64": 1e-12, "fp32": 1e-5, "amp-bf16": 2e-2}


class RuntimesAlike:
    """Base of an adapter's tests, which state what differs.

    `version` is the framework's; `others` are packages whose versions are reported, too. `compiler`
    is the one that takes the least time to compile.
    """

    compiler = "eager"
    version: str
    others: tuple[str, ...]

    @staticmethod
    def finds_cuda():
        """Whether the framework finds a CUDA device here."""
        raise NotImplementedError("each framework is asked in its own way")

    def test_it_describes_itself(self, runtime):
        info = runtime.describe()
        assert info.version == self.version
        assert info.devices[0] == "cpu"
        assert info.threads == 2
        assert set(self.others) <= set(info.versions)

    def test_cuda_is_unsupported_where_there_is_none(self, runtime):
        if self.finds_cuda():
            pytest.skip("there is a CUDA device here")
        with pytest.raises(Unsupported, match="CUDA"):
            type(runtime)(device="cuda", threads=2)

    def test_a_product_tells_fp32(self, runtime, monkeypatch):
        """A product reveals whether fp32 is IEEE single precision: a GPU may use TensorFloat-32."""
        case = make_case(compiler="eager", threads=2)
        if not runtime.adapter.supports(operator_case(case, "op:matmul/2x2x2")).supported:
            pytest.skip("the adapter has no operators")
        tier = runtime.adapter.tiers[DEFAULT]
        runtime.check_products(case, tier)
        monkeypatch.setattr("mbench.sdk.checks.SINGLE", 1e-9)
        with pytest.raises(Unsupported, match="not IEEE single precision"):
            runtime.check_products(case, tier)

    @pytest.mark.parametrize("precision", ["fp64", "fp32"])
    def test_tiers_compute_the_same(self, runtime, workload, precision):
        """Under one compiler, layers, layouts and optimizers of the tiers differ in speed only."""
        found = []
        for tier in (DEFAULT, TUNED):
            how = {"compiler": self.compiler, "precision": precision, "tier": tier}
            made = prepare(runtime, workload, **how)
            assert runtime.adapter.tiers[tier].says in made.differences[0]
            losses(made, 3)
            found.append(dict(made.parameters()))
        first, advised = found
        assert first.keys() == advised.keys()
        exact = precision == "fp64"
        for name, tensor in first.items():
            scale = np.abs(tensor).max()
            gate = 1e-10 if exact else 1e-3
            assert np.abs(advised[name] - tensor).max() <= gate * scale + 1e-12, name


class ScalersAlike:
    """Tests of loss scaling on the CPU, where products are in float32.

    Each subclass has `set_scale(update, scale)`, since each framework keeps its scale elsewhere.
    """

    def scaled(self, runtime, workload):
        """A benchmark that updates as in amp-fp16, but with parameters and products in float32."""
        made = prepare(runtime, workload, compiler="eager")
        kind = PRECISIONS["amp-fp16"]
        own = tensors.trainable(made.natives())
        made.update = made.updater(made.workload, own, kind, made.compiler, made.settings)
        made.prepare_training()
        made.precision = kind
        return made

    def test_steps_are_skipped_until_scaled_gradients_fit(self, runtime, workload, monkeypatch):
        """The scale starts far too large, as it may in a worker's first steps.

        Gradients are not clipped: at such scales their squares overflow long before they do.
        """
        workload = replace(workload, optimizer=replace(workload.optimizer, clip_norm=None))
        family, start = runtime.family(workload), 2.0**127
        honest = family.loss
        monkeypatch.setattr(family, "loss", lambda *given: honest(*given) * LARGE)
        made = self.scaled(runtime, workload)
        self.set_scale(made.update, start)
        made.load_parameters(workload.parameters(seed=0))
        before = dict(made.parameters())
        losses(made, 1)
        assert made.skipped_steps() == 1
        for name, tensor in made.parameters():
            if "running" not in name:
                np.testing.assert_array_equal(tensor, before[name])
        for _ in range(MOST_SKIPPED):
            skipped = made.skipped_steps()
            losses(made, 1)
            if made.skipped_steps() == skipped:
                break
        assert 1 <= skipped < MOST_SKIPPED
        assert made.update.loss_scale() == start / 2.0**skipped
        assert any((tensor != before[name]).any() for name, tensor in made.parameters())

    def test_who_waits_for_the_gradients_says_so(self, runtime, workload):
        made = self.scaled(runtime, workload)
        said = [*made.precision_differences(made.precision), *made.update.differences]
        assert any("waits for the gradients" in one for one in said)

    def test_a_loss_scale_is_kept_and_its_halvings_are_counted(self, runtime, workload):
        made = self.scaled(runtime, workload)
        assert made.update.loss_scale() in (2.0**15, 2.0**16)
        self.set_scale(made.update, 1024.0)
        made.load_parameters(workload.parameters(seed=0))
        assert made.update.loss_scale() == 1024
        self.set_scale(made.update, 256.0)
        assert made.skipped_steps() == 2
        assert made.skipped_steps() == 2
        made.load_parameters(workload.parameters(seed=0))
        assert made.skipped_steps() == 0

        plain = prepare(runtime, workload, compiler="eager")
        assert losses(made, 3) == pytest.approx(losses(plain, 3), rel=1e-4)
        assert made.skipped_steps() == 0
