"""Lies planted in MXNet's models and steps, whose operations run one by one here."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import pytest
from lies import LiesAreCaught, build_then, keeping

mx = pytest.importorskip("mxnet", reason="MXNet is not installed here")

from mxnet import gluon, nd  # noqa: E402
from mxnet.gluon import nn  # noqa: E402

from mbench_mxnet.layers import GELU, BatchNorm  # noqa: E402
from mbench_mxnet.models import resnet  # noqa: E402

# MXNet imports parts of SciPy, if that is installed, when it first meets an array.
pytestmark = pytest.mark.filterwarnings("ignore:Please import .csr_matrix.:DeprecationWarning")


def blocks(benchmark, kind):
    found = []
    benchmark.model.apply(lambda block: found.append(block) if isinstance(block, kind) else None)
    return found


def decay(benchmark, monkeypatch, change):
    update = benchmark.update
    slots = [replace(slot, decay=change(slot.decay)) for slot in update._slots]
    monkeypatch.setattr(update, "_rule", update._make(slots))


class TestLies(LiesAreCaught):
    package = "mbench_mxnet"
    compiler = "eager"
    timed = "fp32"
    counts_flops = False

    def pads_one_side_more(self, benchmark, monkeypatch):
        convolution = benchmark.model.conv1
        honest = convolution.forward

        def forward(x):
            return honest(nd.pad(x, mode="constant", pad_width=(0, 0, 0, 0, 2, 3, 2, 3)))

        monkeypatch.setitem(convolution._kwargs, "pad", (0, 0))
        monkeypatch.setattr(convolution, "forward", forward)

    def wrong_epsilon(self, benchmark, monkeypatch):
        for norm in blocks(benchmark, BatchNorm):
            monkeypatch.setitem(norm._kwargs, "eps", 1e-3)

    def wrong_momentum(self, benchmark, monkeypatch):
        rules = benchmark.statistics._rules
        for parameter, (_, factor) in rules.items():
            monkeypatch.setitem(rules, parameter, (0.99, factor))

    def keeps_its_outputs(self, benchmark, monkeypatch):
        kept = SimpleNamespace(forward=keeping(benchmark.family.forward))
        monkeypatch.setattr(benchmark, "family", kept)

    def forgets_the_classifier(self, benchmark, monkeypatch):
        update = benchmark.update
        learned = [
            slot
            for name, slot in zip(update.parameters, update._slots, strict=True)
            if name != "fc.weight"
        ]
        monkeypatch.setattr(update, "_rule", update._make(learned))

    def keeps_gradients(self, benchmark, monkeypatch):
        update = benchmark.update
        honest, slots = update._rule, update._slots
        kept = [nd.zeros_like(slot.gradient) for slot in slots]

        def rule(scale, step):
            for slot, before in zip(slots, kept, strict=True):
                before += slot.gradient
                slot.gradient[:] = before
            honest(scale, step)

        monkeypatch.setattr(update, "_rule", rule)

    def skips_the_update(self, benchmark, monkeypatch):
        monkeypatch.setattr(benchmark.update, "_rule", lambda scale, step: None)

    def sums_the_loss(self, benchmark, monkeypatch):
        def loss(outputs, batch):
            cross_entropy = gluon.loss.SoftmaxCrossEntropyLoss()
            return cross_entropy(outputs["logits"], batch["labels"]).sum()

        monkeypatch.setattr(resnet, "loss", loss)

    def no_weight_decay(self, benchmark, monkeypatch):
        decay(benchmark, monkeypatch, lambda rate: 0.0)

    def weight_decay_everywhere(self, benchmark, monkeypatch):
        largest = max(slot.decay for slot in benchmark.update._slots)
        decay(benchmark, monkeypatch, lambda rate: largest)

    def no_clipping(self, benchmark, monkeypatch):
        monkeypatch.setattr(benchmark.update, "_clip_norm", None)

    def tanh_gelu(self, benchmark, monkeypatch):
        def approximate(block, F, x):  # noqa: N803 (Gluon hands its operators over as F)
            return 0.5 * x * (1 + F.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))

        monkeypatch.setattr(GELU, "hybrid_forward", approximate)

    def first_positions(self, benchmark, monkeypatch):
        positions = benchmark.batch["masked_positions"]
        first = nd.arange(positions.shape[1], dtype=positions.dtype).expand_dims(0)
        monkeypatch.setitem(
            benchmark.batch, "masked_positions", first.broadcast_to(positions.shape)
        )

    def dropout_left_off(self, benchmark, monkeypatch):
        for dropout in blocks(benchmark, nn.Dropout):
            monkeypatch.setattr(dropout, "_rate", 0.0)

    def strides_first(self, monkeypatch):
        class BottleneckV1(resnet.Bottleneck):
            def __init__(self, *arguments, **settings):
                super().__init__(*arguments, **settings)
                one, other = self.conv1._kwargs, self.conv2._kwargs
                one["stride"], other["stride"] = other["stride"], one["stride"]

        monkeypatch.setattr(resnet, "Bottleneck", BottleneckV1)

    def conv1_has_a_bias(self, monkeypatch):
        def replace_it(model):
            model.conv1 = nn.Conv2D(64, 7, 2, padding=3, in_channels=3)

        build_then(resnet, monkeypatch, replace_it)

    def freezes_a_layer(self, monkeypatch):
        def freeze(model):
            model.layer1.collect_params().setattr("grad_req", "null")

        build_then(resnet, monkeypatch, freeze)
