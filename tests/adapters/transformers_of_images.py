"""A small vision transformer is right in float64, and its outputs show mistakes that others made.

Each adapter derives a class from `Lies` that plants these mistakes in its framework.
"""

from __future__ import annotations

import dataclasses
import importlib

import pytest

from mbench.contract import wire
from mbench.contract.case import Case
from mbench.proofs import judge
from mbench.proofs.proof_case import proof_case, proof_work
from mbench.proofs.reference import SEEDS, find
from mbench.proofs.tolerances import EXACT
from mbench.scenarios.find import resolve
from mbench.worker.session import Session

__all__ = ["Lies"]


class Lies:
    """`package` is the adapter's, `compiler` one under which a model is built as it is written."""

    package: str
    compiler: str

    def failures(self):
        """The failure that the proof's check of outputs reports; empty if it passes."""
        case = proof_case(
            Case(
                model="small-vit", workload="proven:MODELS", mode="inference", batch_size=1,
                precision="fp64", compiler=self.compiler, device="cpu", threads=2,
            )
        )  # fmt: skip
        session = Session()
        start = wire.Start(runtime=f"{self.package}.runtime:Runtime", device="cpu", threads=2)
        session.answer(start)
        session.answer(wire.Prepare(case=case, work=proof_work(case), load=False))
        reference = find(case, resolve(case, proof_work(case)), drawn=False)
        seen = session.answer(wire.Observe(seed=SEEDS[0], steps=1, in_turn=False))
        expected = reference.outputs[SEEDS[0]]
        found = judge.judge_outputs(seen, expected, gate=EXACT, check="outputs")
        return "" if found.passed else str(found)

    def file(self):
        return importlib.import_module(f"{self.package}.models.vit")

    @pytest.mark.parametrize("changes", [{}, {"epsilon": 1e-5}, {"heads": 8}])
    def test_a_config(self, monkeypatch, changes):
        """1e-5 is the usual epsilon of a layer norm, and not that of the reference."""
        honest = self.file().build
        monkeypatch.setattr(
            self.file(), "build", lambda config: honest(dataclasses.replace(config, **changes))
        )
        assert ("output logits off by" in self.failures()) is bool(changes)

    @pytest.mark.parametrize(
        "lie",
        ["tanh_gelu", "norms_after_sums", "means_all_positions", "does_not_scale",
         "takes_patches_by_column"],
    )  # fmt: skip
    def test_a_lie(self, monkeypatch, lie):
        getattr(self, lie)(monkeypatch)
        assert "output logits off by" in self.failures()
