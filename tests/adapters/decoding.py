"""Plants lies in a Llama and in its cache, and in mixtures of experts; the proof of each mode must
catch them by name.

Each adapter derives `Decoding` and defines how each lie is planted in its framework's small model.
Its lies are methods that take monkeypatch and are called before anything is built.
"""

from __future__ import annotations

import dataclasses
import importlib

import numpy as np
import pytest

from mbench.contract import wire
from mbench.contract.case import Case
from mbench.proofs import judge
from mbench.proofs.proof_case import proof_case, proof_work
from mbench.proofs.reference import SEEDS, find
from mbench.proofs.tolerances import EXACT, TIMED
from mbench.scenarios.find import resolve
from mbench.sdk.networks import moe
from mbench.worker.session import Session
from mbench.workloads.llama import LlamaConfig

__all__ = ["Cached", "Decoding", "GraphDecoding", "GraphMixtures", "Mixtures"]

MODES = ("inference", "prefill", "decode")


class Cached:
    """Base of the tests of a decoder of `family`. `package` is the adapter's; a cache is tried
    under each of `compilers`.
    """

    package: str
    compilers: tuple[str, ...]
    family = "llama"

    def case(self, mode, compiler, precision="fp64", tier="default"):
        return proof_case(
            Case(
                model=f"small-{self.family}", workload="proven:MODELS", mode=mode, batch_size=1,
                precision=precision, compiler=compiler, device="cpu", threads=2, tier=tier,
            )
        )  # fmt: skip

    def failures(
        self, mode, *, compiler="", precision="fp64", gate=EXACT, tier="default", seeds=SEEDS
    ):
        """The failures that the proof's check of outputs reports, for parameters of each seed."""
        case = self.case(mode, compiler or self.compilers[0], precision, tier)
        session = Session()
        start = wire.Start(runtime=f"{self.package}.runtime:Runtime", device="cpu", threads=2)
        session.answer(start)
        session.answer(wire.Prepare(case=case, work=proof_work(case), load=False))
        reference = find(case, resolve(case, proof_work(case)), drawn=False)
        found = []
        for seed in seeds:
            seen = session.answer(wire.Observe(seed=seed, steps=2, in_turn=False))
            found.append(
                judge.judge_outputs(seen, reference.outputs[seed], gate=gate, check="outputs")
            )
        return [str(one) for one in found if not one.passed]

    def caught(self, mode):
        """The failure that a lie causes; the parameters of one seed are enough to show it."""
        return self.failures(mode, seeds=SEEDS[:1])[0]

    @property
    def file(self):
        return importlib.import_module(f"{self.package}.models.{self.family}")

    def reconfigures(self, monkeypatch, changes):
        """Changes the config where the model is built."""
        honest = self.file.build
        monkeypatch.setattr(
            self.file, "build", lambda config: honest(dataclasses.replace(config, **changes))
        )

    @pytest.mark.parametrize("mode", MODES)
    def test_each_mode_is_right_in_float64(self, mode):
        assert not self.failures(mode)


class Decoding(Cached):
    def test_decode_under_the_other_compilers(self):
        for compiler in self.compilers[1:]:
            assert not self.failures("decode", compiler=compiler), compiler

    def test_decode_in_single_precision(self):
        gate = TIMED["fp32"]
        assert not self.failures("decode", compiler=self.compilers[-1], precision="fp32", gate=gate)

    @pytest.mark.parametrize(
        "changes", [{"epsilon": 1e-6}, {"theta": 1e4 + 1}, {"scaling": None}, {"layers": 1}]
    )
    def test_another_config(self, monkeypatch, changes):
        """Another config shows in the logits; with fewer layers, the parameters do not load."""
        self.reconfigures(monkeypatch, changes)
        if "layers" in changes:
            with pytest.raises(ValueError, match=r"the model has no model\.layers\.1"):
                self.failures("decode")
            return
        for mode in ("inference", "decode"):  # decode begins with a prefill
            assert "output logits off by" in self.caught(mode), mode

    def test_neighbours_turn_as_pairs(self, monkeypatch):
        """The original paper rotates neighbours as pairs, which these weights are not for."""
        self.interleaves(monkeypatch)
        for mode in ("inference", "decode"):  # decode begins with a prefill
            assert "output logits off by" in self.caught(mode), mode

    def test_the_tables_of_another_precision(self, monkeypatch):
        honest = LlamaConfig.rotations

        def rounded(config):
            return tuple(table.astype(np.float32).astype(float) for table in honest(config))

        monkeypatch.setattr(LlamaConfig, "rotations", rounded)
        assert "an epsilon or an approximation" in self.caught("inference")

    def test_heads_of_other_groups(self, monkeypatch):
        """There are as many key-value heads, but each serves query heads that are not adjacent."""
        self.groups_otherwise(monkeypatch)
        for mode in ("inference", "decode"):  # decode begins with a prefill
            assert "output logits off by" in self.caught(mode), mode

    def test_the_norm_after_the_product(self, monkeypatch):
        self.weighs_first(monkeypatch)
        for mode in ("inference", "decode"):  # decode begins with a prefill
            assert "output logits off by" in self.caught(mode), mode

    def test_a_token_one_place_too_early(self, monkeypatch):
        self.shifts_positions(monkeypatch)
        assert not self.failures("inference")
        assert "output logits off by" in self.caught("decode")

    def test_attention_to_what_is_empty(self, monkeypatch):
        self.sees_everything(monkeypatch)
        assert "output logits off by" in self.caught("decode")

    def test_a_prompt_that_was_not_read(self, monkeypatch):
        self.forgets_the_prompt(monkeypatch)
        assert "output logits off by" in self.caught("decode")


class Mixtures(Cached):
    """Base of the tests of a mixture of experts, in whose first layer two have the same score."""

    family = "moe"

    def tensor(self, array):
        """The framework's tensor of a NumPy array."""
        raise NotImplementedError

    def flipped(self, x):
        """`x` of shape (T, E) with its last axis reversed."""
        raise NotImplementedError

    def shares(self, scores, numbers):
        """The softmax of the (T, E) scores, at the (T, K) experts in `numbers`."""
        raise NotImplementedError

    def last_of_equals(self, honest, scores, count):
        weights, numbers = honest(self.flipped(scores), count)
        return weights, scores.shape[-1] - 1 - numbers

    def drops_a_token(self, honest, scores, count):
        """Drops the last token, as experts that are full would."""
        weights, numbers = honest(scores, count)
        kept = np.ones((scores.shape[0], 1))
        kept[-1] = 0
        return weights * self.tensor(kept), numbers

    def not_renormalised(self, honest, scores, count):
        _, numbers = honest(scores, count)
        return self.shares(scores, numbers), numbers

    @pytest.mark.parametrize("lie", ["last_of_equals", "drops_a_token", "not_renormalised"])
    def test_another_choice(self, monkeypatch, lie):
        told, honest = getattr(self, lie), self.file.chosen
        monkeypatch.setattr(self.file, "chosen", lambda *given: told(honest, *given))
        for mode in ("inference", "decode"):  # of many tokens and of few
            assert "output logits off by" in self.caught(mode), mode


class GraphDecoding(Decoding):
    """Decoding in a framework whose graphs the adapter's `net` builds."""

    net: type

    def reconfigures(self, monkeypatch, changes):
        honest = self.net.__init__

        def init(net, config, *given, **settings):
            honest(net, dataclasses.replace(config, **changes), *given, **settings)

        monkeypatch.setattr(self.net, "__init__", init)

    def weighs_first(self, monkeypatch):
        honest = self.net.rms_norm

        def normed(net, name, x):
            width = net.config.hidden
            x = net.product(x, net.tensor(f"{name}.weight", (width,)))
            ones = net.constant(np.ones(width))
            with monkeypatch.context() as within:
                within.setattr(net, "tensor", lambda *_: ones)
                return honest(net, name, x)

        monkeypatch.setattr(self.net, "rms_norm", normed)


class GraphMixtures(Mixtures):
    """Mixtures in frameworks whose models are graphs: faults are planted in their nodes."""

    @property
    def file(self):
        return moe

    def last_of_equals(self, honest, net, scores, count):
        experts = net.config.experts
        weights, numbers = honest(net, net.columns(scores, range(experts)[::-1]), count)
        return weights, net.rows(net.constant(range(experts)[::-1]), numbers)

    def drops_a_token(self, honest, net, scores, count):
        """Drops all tokens of the first expert, as if it were full from the start."""
        weights, numbers = honest(net, scores, count)
        room = net.constant([0.0, *[1.0] * (net.config.experts - 1)])
        return net.product(weights, net.rows(room, numbers)), numbers

    def not_renormalised(self, honest, net, scores, count):
        return net.largest(net.softmax(scores), count)
