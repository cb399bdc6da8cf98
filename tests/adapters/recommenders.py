"""Plants lies in a small recommender; its proof must catch each by name.

Each adapter derives `Recommenders`. Its optimizer has momentum and decay, by which a dense update
of tables moves rows that no sample of a step has touched.
"""

from __future__ import annotations

import importlib
from dataclasses import replace

import numpy as np
import pytest
from decoding import Cached
from lies import Proofs, assert_caught
from small import infer, prepare

from mbench.workloads.dlrm import MODELS, DlrmConfig

__all__ = ["GraphRecommenders", "Recommenders"]

MODEL = "small-dlrm"
CROSSED = replace(
    MODELS["dlrm-v2"],
    config=DlrmConfig(
        tables=(5, 7), rows=7, bags=(2, 1), width=4, bottom=(8, 4), top=(6, 1), cross_layers=2,
        rank=3,
    ),
)  # fmt: skip


def with_the_diagonal(config):
    return [(one, other) for one in range(config.features) for other in range(one + 1)]


def column_by_column(config):
    return sorted(((one, other) for one in range(config.features) for other in range(one)),
                  key=lambda pair: pair[1])  # fmt: skip


class Recommenders:
    """Base of an adapter's tests; `compiler` is one under which a lie can be planted."""

    package: str
    compiler: str

    @pytest.fixture(scope="class")
    @classmethod
    def proofs(cls):
        return Proofs(f"{cls.package}.runtime:Runtime", cls.compiler, timed="fp32")

    @pytest.mark.parametrize(("part", "count"), [("inference", 2), ("plain", 1), ("own", 3)])
    def test_it_is_right_in_float64(self, proofs, part, count):
        proofs.build(MODEL, part)
        found = proofs.findings(MODEL, part, count)
        # The model is so small that FLOPs besides those of products are a twentieth of them.
        assert_caught((one for one in found if one.check != "flops"), {})

    def pairs_otherwise(self, monkeypatch, pairs):
        """Plants other pairs where the model is built."""
        file = importlib.import_module(f"{self.package}.models.dlrm")
        honest = file.build
        lying = type("Lying", (DlrmConfig,), {"pairs": property(pairs)})
        monkeypatch.setattr(file, "build", lambda config: honest(lying(**vars(config))))

    def test_interaction_with_the_diagonal(self, proofs, monkeypatch):
        self.pairs_otherwise(monkeypatch, with_the_diagonal)
        with pytest.raises(ValueError, match=r"top_l\.0\.weight is \(64, \d+\) in the model, not"):
            proofs.build(MODEL, "inference")

    def test_pairs_in_another_order(self, proofs, monkeypatch):
        self.pairs_otherwise(monkeypatch, column_by_column)
        proofs.build(MODEL, "inference")
        assert_caught(proofs.findings(MODEL, "inference", 1), {"outputs": ["output logits"]})

    def test_a_sparse_update_with_momentum(self, proofs, monkeypatch):
        """Rows that a step did not touch stay as they are, although the gradient is right."""
        self.updates_what_was_touched(monkeypatch)
        proofs.build(MODEL, "plain")
        assert_caught(proofs.findings(MODEL, "plain", 1), {})
        proofs.build(MODEL, "own")
        found = {"optimizer": ["change of emb_l.", "tensors differ"]}
        assert_caught(proofs.findings(MODEL, "own", 3), found)


class GraphRecommenders(Cached):
    """Tests of a recommender in a framework that infers only."""

    family = "dlrm"
    test_each_mode_is_right_in_float64 = None

    @pytest.mark.parametrize("pairs", [None, column_by_column])
    def test_the_order_of_pairs(self, monkeypatch, pairs):
        if pairs is None:
            assert not self.failures("inference")
            return
        monkeypatch.setattr(DlrmConfig, "pairs", property(pairs))
        assert "output logits off by" in self.caught("inference")

    def test_a_cross_network(self, runtime):
        found = infer(prepare(runtime, CROSSED, mode="inference", compiler=self.compilers[0]))
        due = crossed(dict(CROSSED.parameters(seed=0)), CROSSED.batch(3, seed=0))
        np.testing.assert_allclose(found["logits"], due, rtol=1e-5)


def crossed(tensors, batch):
    """The logits (B) of CROSSED, by its definition in float64."""
    given = {name: tensor.astype(float) for name, tensor in tensors.items()}

    def linear(name, x):
        return x @ given[f"{name}.weight"].T + given[f"{name}.bias"]

    def mlp(name, x):
        return linear(f"{name}.2", np.maximum(linear(f"{name}.0", x), 0))

    numbers = batch["categories"]
    sums = [
        given[f"emb_l.{at}.weight"][ids].sum(1)
        for at, ids in enumerate((numbers[:, :2], numbers[:, 2:]))
    ]
    x = start = np.concatenate(
        (np.maximum(mlp("bot_l", batch["continuous"].astype(float)), 0), *sums), axis=1
    )
    for layer in range(CROSSED.config.cross_layers):
        narrow, wide, bias = (
            given[f"crossnet.{leaf}.{layer}"] for leaf in ("V_kernels", "W_kernels", "bias")
        )
        x = start * (x @ narrow.T @ wide.T + bias) + x
    return mlp("top_l", x)[:, 0]
