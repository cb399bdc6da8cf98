"""Lies planted in MindSpore's models and steps, which run operation by operation here."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pytest
from lies import LIES, LiesAreCaught, build_then, keeping

pytest.importorskip("mindspore", reason="MindSpore is not installed here")

import mindspore as ms
import numpy as np
from mbench_mindspore import images
from mbench_mindspore.layers import BatchNorm2d, Conv2d, Dropout, exact
from mbench_mindspore.models import bert, resnet
from mbench_mindspore.rules import Clipped
from mindspore import Parameter, ops

QUICK = [("resnet50", "inference"), ("resnet50", "timed"), ("bert-base", "inference")]
"""The others are steps in float64, of a quarter of a minute each or more."""


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

    @pytest.mark.thorough
    def test_a_frozen_layer(self, proofs, monkeypatch):
        super().test_a_frozen_layer(proofs, monkeypatch)

    def pads_one_side_more(self, benchmark, monkeypatch):
        """As "same" does at stride 2."""
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
