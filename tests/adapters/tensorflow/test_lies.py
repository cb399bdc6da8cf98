"""Lies planted in TensorFlow's models and steps, which run eagerly here."""

from __future__ import annotations

from functools import partial

import pytest
from lies import LiesAreCaught, build_then, keeping

tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed here")

import keras  # noqa: E402

from mbench_tensorflow import images  # noqa: E402
from mbench_tensorflow.models import bert, resnet  # noqa: E402


def layers(benchmark, kind):
    return [layer for layer in benchmark.model._flatten_layers() if isinstance(layer, kind)]


def rule(benchmark):
    return benchmark.update._rule


def alter_gradients(benchmark, monkeypatch, change):
    honest = rule(benchmark).apply
    monkeypatch.setattr(rule(benchmark), "apply", lambda gradients: honest(change(gradients)))


class TestLies(LiesAreCaught):
    package = "mbench_tensorflow"
    compiler = "eager"

    def pads_one_side_more(self, benchmark, monkeypatch):
        """Pads as "same" does at stride 2."""
        margins = [(0, 0), (2, 3), (2, 3), (0, 0)]
        monkeypatch.setattr(benchmark.model.conv1, "margins", margins)

    def wrong_epsilon(self, benchmark, monkeypatch):
        for norm in layers(benchmark, keras.layers.BatchNormalization):
            monkeypatch.setattr(norm, "epsilon", 1e-3)

    def wrong_momentum(self, benchmark, monkeypatch):
        for norm in layers(benchmark, keras.layers.BatchNormalization):
            monkeypatch.setattr(norm, "momentum", 0.99)

    def keeps_its_outputs(self, benchmark, monkeypatch):
        monkeypatch.setattr(benchmark, "forward", keeping(benchmark.forward))

    def forgets_the_classifier(self, benchmark, monkeypatch):
        classifier = list(benchmark.update.parameters).index("fc.weight")

        def change(gradients):
            return [
                tf.zeros_like(gradient) if index == classifier else gradient
                for index, gradient in enumerate(gradients)
            ]

        alter_gradients(benchmark, monkeypatch, change)

    def keeps_gradients(self, benchmark, monkeypatch):
        kept = []

        def change(gradients):
            kept[:] = [a + b for a, b in zip(kept, gradients, strict=True)] if kept else gradients
            return list(kept)

        alter_gradients(benchmark, monkeypatch, change)

    def skips_the_update(self, benchmark, monkeypatch):
        monkeypatch.setattr(rule(benchmark), "apply", lambda gradients: None)

    def sums_the_loss(self, benchmark, monkeypatch):
        mean = images.cross_entropy

        def summed(logits, labels):
            return mean(logits, labels) * labels.shape[0]

        monkeypatch.setattr(images, "cross_entropy", summed)

    def no_weight_decay(self, benchmark, monkeypatch):
        own = rule(benchmark)
        monkeypatch.setattr(own, "decays", [0.0] * len(own.decays))

    def weight_decay_everywhere(self, benchmark, monkeypatch):
        optimizer = rule(benchmark).optimizer
        monkeypatch.setattr(optimizer, "_use_weight_decay", lambda variable: True)

    def no_clipping(self, benchmark, monkeypatch):
        monkeypatch.setattr(benchmark.update, "_clip_norm", None)

    def tanh_gelu(self, benchmark, monkeypatch):
        monkeypatch.setattr(bert, "gelu", partial(tf.nn.gelu, approximate=True))

    def first_positions(self, benchmark, monkeypatch):
        positions = benchmark.batch["masked_positions"]
        first = tf.broadcast_to(
            tf.range(positions.shape[1], dtype=positions.dtype), positions.shape
        )
        monkeypatch.setitem(benchmark.batch, "masked_positions", first)

    def dropout_left_off(self, benchmark, monkeypatch):
        monkeypatch.setattr(keras.layers.Dropout, "call", lambda layer, x, training=False: x)

    def strides_first(self, monkeypatch):
        honest = resnet.Bottleneck.__init__

        def build(block, *arguments, **settings):
            honest(block, *arguments, **settings)
            first, second, _ = (each for each in block.residual if hasattr(each, "strides"))
            first.strides, second.strides = second.strides, first.strides

        monkeypatch.setattr(resnet.Bottleneck, "__init__", build)

    def conv1_has_a_bias(self, monkeypatch):
        def add(model):
            model.conv1.use_bias = True  # Keras builds its variables at the first call

        build_then(resnet, monkeypatch, add)

    def freezes_a_layer(self, monkeypatch):
        def freeze(model):
            model.blocks[0].residual[0].trainable = False  # a Keras norm would infer instead

        build_then(resnet, monkeypatch, freeze)
