"""Lies planted in MindSpore's models and steps, which run operation by operation here."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pytest
from lies import LIES, WORKLOADS, LiesAreCaught, build_then, keeping

pytest.importorskip("mindspore", reason="MindSpore is not installed here")

import mindspore as ms
import numpy as np
from mbench_mindspore import images
from mbench_mindspore.layers import BatchNorm2d, Conv2d, Dropout, exact
from mbench_mindspore.models import bert, resnet
from mbench_mindspore.rules import Clipped
from mindspore import Parameter, ops

from mbench.contract import wire
from mbench.contract.case import Case
from mbench.proofs.changes import RULE_RATE, judge_rule
from mbench.proofs.proof_case import given_case, proof_case, proof_work
from mbench.proofs.reference import STEPS
from mbench.scenarios.find import resolve
from mbench.worker.session import Session

QUICK = [("resnet50", "inference"), ("resnet50", "timed"), ("small-bert", "inference")]
"""Quick parts of proofs. The others are steps in float64, each of 15 seconds or more."""


def marked(lie):
    return pytest.param(*lie, marks=() if lie[:2] in QUICK else pytest.mark.thorough)


def cells(benchmark, kind):
    return [cell for _, cell in benchmark.model.cells_and_names() if isinstance(cell, kind)]


def alter(monkeypatch, change):
    """Change gradients before they are clipped."""
    honest = Clipped.construct
    monkeypatch.setattr(
        Clipped, "construct", lambda cell, gradients: honest(cell, change(gradients))
    )


class TestLies(LiesAreCaught):
    package = "mbench_mindspore"
    compiler = "pynative"
    counts_flops = False
    timed = "fp32"

    @pytest.mark.parametrize(
        ("model", "part", "count", "lie", "expected"), [marked(lie) for lie in LIES]
    )
    def test_a_lie(self, proofs, monkeypatch, model, part, count, lie, expected):
        super().test_a_lie(proofs, monkeypatch, model, part, count, lie, expected)

    @pytest.mark.parametrize(
        ("model", "precision", "lie", "caught"),
        [
            ("resnet50", "fp32", "nothing", False),
            ("resnet50", "fp64", "nothing", False),
            ("resnet50", "fp64", "no_weight_decay", True),
            ("resnet50", "fp64", "keeps_gradients", True),
            ("resnet50", "fp64", "skips_the_update", True),
            ("small-bert", "fp32", "nothing", False),
            ("small-bert", "fp64", "nothing", False),
            ("small-bert", "fp64", "no_clipping", True),
            ("small-bert", "fp64", "weight_decay_everywhere", True),
            ("small-bert", "fp64", "skips_the_update", True),
        ],
    )
    def test_a_lie_about_the_optimizer_alone(self, monkeypatch, model, precision, lie, caught):
        """The optimizer runs on given gradients, which takes a second."""
        case = proof_case(
            Case(
                model=model, workload=WORKLOADS[model], mode="train", batch_size=1,
                precision=precision, compiler=self.compiler, device="cpu", threads=2,
            )
        )  # fmt: skip
        case, work = given_case(case), proof_work(case, learning_rate=RULE_RATE)
        session = Session()
        session.answer(
            wire.Start(runtime=f"{self.package}.runtime:Runtime", device="cpu", threads=2)
        )
        session.answer(wire.Prepare(case=case, work=work, load=False))
        getattr(self, lie)(session.cycler.prepared.benchmark, monkeypatch)
        seen = session.answer(wire.Observe(seed=0, steps=STEPS, in_turn=True))
        finding = judge_rule(seen.steps, resolve(case, work), precision=precision, seed=case.seed)
        assert finding.passed != caught, finding

    @pytest.mark.thorough
    def test_a_frozen_layer(self, proofs, monkeypatch):
        super().test_a_frozen_layer(proofs, monkeypatch)

    def pads_one_side_more(self, benchmark, monkeypatch):
        """Pads as "same" does at stride 2."""
        honest = Conv2d.composed

        def composed(cell, x):
            if cell.sides != (7, 7):
                return honest(cell, x)
            margins, cell.margins = cell.margins, (0, 0)
            found = honest(cell, ops.pad(x, (2, 3, 2, 3)))
            cell.margins = margins
            return found

        monkeypatch.setattr(Conv2d, "composed", composed)

    def wrong_epsilon(self, benchmark, monkeypatch):
        for norm in cells(benchmark, BatchNorm2d):
            monkeypatch.setattr(norm, "exact_epsilon", exact(1e-3))

    def wrong_momentum(self, benchmark, monkeypatch):
        for norm in cells(benchmark, BatchNorm2d):
            monkeypatch.setattr(norm, "share", exact(0.01))
            monkeypatch.setattr(norm, "keep", exact(0.99))

    def keeps_its_outputs(self, benchmark, monkeypatch):
        monkeypatch.setattr(benchmark, "compute", keeping(benchmark.compute))

    def forgets_the_classifier(self, benchmark, monkeypatch):
        at = list(benchmark.update.parameters).index("fc.weight")

        def forget(gradients):
            return (*gradients[:at], ops.zeros_like(gradients[at]), *gradients[at + 1 :])

        alter(monkeypatch, forget)

    def keeps_gradients(self, benchmark, monkeypatch):
        kept = []

        def keep(gradients):
            pairs = zip(*kept, gradients, strict=True)
            kept[:] = [tuple(a + b for a, b in pairs) if kept else gradients]
            return kept[0]

        alter(monkeypatch, keep)

    def skips_the_update(self, benchmark, monkeypatch):
        monkeypatch.setattr(Clipped, "construct", lambda cell, gradients: gradients[0])

    def sums_the_loss(self, benchmark, monkeypatch):
        summing = SimpleNamespace(cross_entropy=partial(ops.cross_entropy, reduction="sum"))
        monkeypatch.setattr(images, "ops", summing)

    def no_weight_decay(self, benchmark, monkeypatch):
        native = benchmark.update.native
        monkeypatch.setattr(native, "decays", tuple(exact(0) for _ in native.decays))

    def weight_decay_everywhere(self, benchmark, monkeypatch):
        native = benchmark.update.native
        least = min(float(keep.asnumpy()) for keep in native.keeps)
        monkeypatch.setattr(native, "keeps", tuple(exact(least) for _ in native.keeps))

    def no_clipping(self, benchmark, monkeypatch):
        monkeypatch.setattr(benchmark.update.cell, "clip_norm", None)

    def tanh_gelu(self, benchmark, monkeypatch):
        monkeypatch.setattr(bert, "gelu", partial(ops.gelu, approximate="tanh"))

    def first_positions(self, benchmark, monkeypatch):
        positions = benchmark.batch["masked_positions"]
        first = np.broadcast_to(np.arange(positions.shape[1], dtype=np.int32), positions.shape)
        monkeypatch.setitem(benchmark.batch, "masked_positions", ms.Tensor(first.copy()))

    def dropout_left_off(self, benchmark, monkeypatch):
        for dropout in cells(benchmark, Dropout):
            monkeypatch.setattr(dropout, "p", 0)

    def strides_first(self, monkeypatch):
        honest = resnet.build
        monkeypatch.setattr(
            resnet, "build", lambda config: honest(replace(config, stride_first=True))
        )

    def conv1_has_a_bias(self, monkeypatch):
        def add(model):
            model.conv1.has_bias = True
            model.conv1.bias = Parameter(ms.Tensor(np.zeros(64, np.float32)), name="bias")

        build_then(resnet, monkeypatch, add)

    def freezes_a_layer(self, monkeypatch):
        def freeze(model):
            for parameter in model.layer1.get_parameters():
                parameter.requires_grad = False

        build_then(resnet, monkeypatch, freeze)
