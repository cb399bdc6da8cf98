"""Plants lies in a small diffusion transformer, and in steps that are divided; its proof must catch
each by name.

Each adapter derives `Diffusion` and `Divided`, and plants each fault in its framework.
"""

from __future__ import annotations

import dataclasses
import importlib
from typing import ClassVar

import numpy as np
import pytest
from lies import Proofs, assert_caught

from mbench.workloads.dit import WAVES, DiTConfig

__all__ = ["Diffusion", "Divided"]

MODEL = "small-dit"
OUTPUTS = {"outputs": ["output denoised"]}


class Planted:
    """Base of both classes. `package` is the adapter's, `compiler` one under which a lie can be
    planted. A lie is a method that takes monkeypatch and is called before anything is built.
    """

    package: str
    compiler: str
    axes: ClassVar = {}
    """Further axes of the case."""

    @pytest.fixture(scope="class")
    @classmethod
    def proofs(cls):
        return Proofs(f"{cls.package}.runtime:Runtime", cls.compiler, timed="fp32", **cls.axes)

    @property
    def file(self):
        return importlib.import_module(f"{self.package}.models.dit")


class Diffusion(Planted):
    def found(self, proofs, part="inference"):
        proofs.build(MODEL, part)
        return proofs.findings(MODEL, part, 1)

    def test_it_is_right_in_float64(self, proofs):
        assert_caught((one for one in self.found(proofs) if one.check != "flops"), {})

    @pytest.mark.parametrize("changes", [{"epsilon": 1e-5}, {"heads": 8}])
    def test_another_config(self, proofs, monkeypatch, changes):
        honest = self.file.build
        monkeypatch.setattr(
            self.file, "build", lambda config: honest(dataclasses.replace(config, **changes))
        )
        assert_caught(self.found(proofs), OUTPUTS)

    @pytest.mark.parametrize(
        ("table", "by", "axis"),
        [("positions", 128, 1), ("timestep_waves", WAVES, 1), ("timestep_waves", 1, 0)],
        ids=["rows before columns", "sines before cosines", "the timestep before"],
    )
    def test_another_table(self, proofs, monkeypatch, table, by, axis):
        honest = getattr(DiTConfig, table)
        monkeypatch.setattr(DiTConfig, table, lambda config: np.roll(honest(config), by, axis))
        assert_caught(self.found(proofs), OUTPUTS)

    def ignores_classes(self, monkeypatch):
        honest = self.file.forward
        monkeypatch.setattr(
            self.file,
            "forward",
            lambda model, batch, **how: honest(
                model, {**batch, "classes": 0 * batch["classes"]}, **how
            ),
        )

    def swaps_shift_and_scale(self, monkeypatch):
        raise NotImplementedError

    def multiplies_by_the_scale_alone(self, monkeypatch):
        """Does not add 1 to the scale."""
        raise NotImplementedError

    def forgets_the_gates(self, monkeypatch):
        raise NotImplementedError

    def exact_gelu(self, monkeypatch):
        raise NotImplementedError

    def puts_pixels_by_column(self, monkeypatch):
        raise NotImplementedError

    @pytest.mark.parametrize(
        "lie",
        ["ignores_classes", "swaps_shift_and_scale", "multiplies_by_the_scale_alone",
         "forgets_the_gates", "exact_gelu", "puts_pixels_by_column"],
    )  # fmt: skip
    def test_a_lie(self, proofs, monkeypatch, lie):
        getattr(self, lie)(monkeypatch)
        assert_caught(self.found(proofs), OUTPUTS)

    def of_noise_alone(self, outputs, batch):
        """The loss without the bound from which variances are learned."""
        raise NotImplementedError

    def not_stopped(self, monkeypatch):
        """Lets the gradient of the bound reach the predicted noise, too."""
        raise NotImplementedError

    def test_the_loss_without_its_bound(self, proofs, monkeypatch):
        monkeypatch.setattr(self.file, "loss", self.of_noise_alone)
        expected = {"loss": ["loss of step 1"], "updates": ["tensors differ"]}
        assert_caught(self.found(proofs, "plain"), expected)

    def test_noise_that_learns_from_the_bound(self, proofs, monkeypatch):
        """The loss stays the same, so only the check of updates fails."""
        self.not_stopped(monkeypatch)
        found = list(self.found(proofs, "plain"))
        assert_caught(found, {"updates": ["tensors differ"]})
        assert [one.check for one in found if not one.passed] == ["updates"]


class Divided(Planted):
    """Lies about steps of two micro-batches whose layers are computed again."""

    axes: ClassVar = {"batch_size": 2, "accumulate": 2, "checkpoint": True}

    def sums_micro_batches(self, monkeypatch):
        """Sums over micro-batches instead of averaging."""
        raise NotImplementedError

    def keeps_the_last_gradients(self, monkeypatch):
        """Keeps the gradients of the last micro-batch alone."""
        raise NotImplementedError

    def learns_nothing_in_layers(self, monkeypatch):
        """Layers that are computed again get no gradients."""
        raise NotImplementedError

    @pytest.mark.parametrize(
        ("lie", "expected"),
        [
            ("sums_micro_batches",
             {"loss": ["2 times what it should be"], "updates": ["common factor 2"]}),
            ("keeps_the_last_gradients", {"updates": ["tensors differ"]}),
            ("learns_nothing_in_layers", {"updates": ["tensors differ", "of them did not change"]}),
        ],
    )  # fmt: skip
    def test_a_lie(self, proofs, monkeypatch, lie, expected):
        getattr(self, lie)(monkeypatch)
        proofs.build(MODEL, "plain")
        assert_caught(proofs.findings(MODEL, "plain", 1), expected)
