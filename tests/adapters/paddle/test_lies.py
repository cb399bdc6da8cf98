"""Lies planted in PaddlePaddle's models and steps, which run in dygraph here."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import pytest
from lies import LiesAreCaught, build_then, keeping

paddle = pytest.importorskip("paddle", reason="PaddlePaddle is not installed here")

from paddle import nn  # noqa: E402
from paddle.nn import functional as F  # noqa: E402
from paddle.regularizer import L2Decay  # noqa: E402

from mbench_paddle import images  # noqa: E402
from mbench_paddle.models import resnet  # noqa: E402

# By paddle.flops, which counts FLOPs for the proof.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Conversion of an array with ndim > 0:DeprecationWarning"
)


def layers(benchmark, kind):
    return [layer for layer in benchmark.model.sublayers() if isinstance(layer, kind)]


def alter_optimizer(benchmark, monkeypatch, change):
    """Apply `change` to each new optimizer: one is created whenever parameters are loaded."""
    honest = benchmark.update._make

    def make():
        made = honest()
        change(made)
        return made

    monkeypatch.setattr(benchmark.update, "_make", make)


class TestLies(LiesAreCaught):
    package = "mbench_paddle"
    compiler = "eager"
    timed = "fp32"

    def pads_one_side_more(self, benchmark, monkeypatch):
        convolution = benchmark.model.conv1
        honest = convolution.forward
        monkeypatch.setattr(convolution, "_updated_padding", [0, 0])
        monkeypatch.setattr(convolution, "forward", lambda x: honest(F.pad(x, [2, 3, 2, 3])))

    def wrong_epsilon(self, benchmark, monkeypatch):
        for norm in layers(benchmark, nn.BatchNorm2D):
            monkeypatch.setattr(norm, "_epsilon", 1e-3)

    def wrong_momentum(self, benchmark, monkeypatch):
        for norm in layers(benchmark, nn.BatchNorm2D):
            monkeypatch.setattr(norm, "_momentum", 0.99)

    def keeps_its_outputs(self, benchmark, monkeypatch):
        monkeypatch.setattr(benchmark, "forward", keeping(benchmark.forward))

    def forgets_the_classifier(self, benchmark, monkeypatch):
        classifier = benchmark.model.fc.weight

        def forget(made):
            made._param_groups = [p for p in made._param_groups if p is not classifier]

        alter_optimizer(benchmark, monkeypatch, forget)

    def keeps_gradients(self, benchmark, monkeypatch):
        benchmark.update.zero_gradients()
        monkeypatch.setattr(benchmark.update, "zero_gradients", lambda: None)

    def skips_the_update(self, benchmark, monkeypatch):
        def skip(made):
            made.step = lambda: None

        alter_optimizer(benchmark, monkeypatch, skip)

    def sums_the_loss(self, benchmark, monkeypatch):
        summing = SimpleNamespace(cross_entropy=partial(F.cross_entropy, reduction="sum"))
        monkeypatch.setattr(images, "F", summing)

    def no_weight_decay(self, benchmark, monkeypatch):
        def spare(made):
            for parameter in made._parameter_list:
                parameter.regularizer = L2Decay(0.0)

        alter_optimizer(benchmark, monkeypatch, spare)

    def weight_decay_everywhere(self, benchmark, monkeypatch):
        def decay(made):
            made._apply_decay_param_fun = lambda name: True

        alter_optimizer(benchmark, monkeypatch, decay)

    def no_clipping(self, benchmark, monkeypatch):
        def leave(made):
            made._grad_clip = None

        alter_optimizer(benchmark, monkeypatch, leave)

    def tanh_gelu(self, benchmark, monkeypatch):
        for layer in layers(benchmark, nn.TransformerEncoderLayer):
            monkeypatch.setattr(layer, "activation", partial(F.gelu, approximate=True))

    def first_positions(self, benchmark, monkeypatch):
        positions = benchmark.batch["masked_positions"]
        first = paddle.arange(positions.shape[1], dtype=positions.dtype)
        monkeypatch.setitem(benchmark.batch, "masked_positions", first.expand(positions.shape))

    def dropout_left_off(self, benchmark, monkeypatch):
        for dropout in layers(benchmark, nn.Dropout):
            monkeypatch.setattr(dropout, "p", 0.0)
        for attention in layers(benchmark, nn.MultiHeadAttention):
            monkeypatch.setattr(attention, "dropout", 0.0)

    def strides_first(self, monkeypatch):
        class BottleneckV1(resnet.BottleneckBlock):
            def __init__(self, *arguments, **settings):
                super().__init__(*arguments, **settings)
                self.conv1._stride, self.conv2._stride = self.conv2._stride, self.conv1._stride

        monkeypatch.setattr(resnet, "BottleneckBlock", BottleneckV1)

    def conv1_has_a_bias(self, monkeypatch):
        def add(model):
            model.conv1.bias = model.conv1.create_parameter([64], is_bias=True)

        build_then(resnet, monkeypatch, add)

    def freezes_a_layer(self, monkeypatch):
        def freeze(model):
            for parameter in model.layer1.parameters():
                parameter.stop_gradient = True

        build_then(resnet, monkeypatch, freeze)
