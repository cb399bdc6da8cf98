"""Two further lies about a Llama: tokens that it chooses, and norms in single precision.

For adapters whose model file has `advance(model, cache, token, position)`; each derives `Forcing`
beside `Cached`, and defines how norms are rounded.
"""

from __future__ import annotations

from mbench.proofs.reference import SEEDS

__all__ = ["Forcing"]


class Forcing:
    def rounds_norms(self, monkeypatch):
        """Rounds norms to float32, before the product with their weights."""
        raise NotImplementedError

    def test_a_norm_in_single_precision(self, monkeypatch):
        """The library transformers computes norms in single precision even in float64."""
        self.rounds_norms(monkeypatch)
        assert "an epsilon or an approximation" in self.caught("inference")

    def test_other_tokens_than_those_that_are_given(self, monkeypatch):
        honest = self.file.advance
        monkeypatch.setattr(
            self.file,
            "advance",
            lambda model, cache, token, at: honest(model, cache, 0 * token, at),
        )
        assert not self.failures("prefill", seeds=SEEDS[:1])
        assert "output logits off by" in self.caught("decode")
