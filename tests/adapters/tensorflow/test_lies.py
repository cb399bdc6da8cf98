"""Lies planted in TensorFlow's models and steps: the proof of equal work must catch each by name.

Steps run eagerly, so that a lie can be planted in a model that is built.
"""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import pytest

tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed here")

import keras  # noqa: E402

from mbench_tensorflow import parameters  # noqa: E402
from mbench_tensorflow.layers import BatchNormalization  # noqa: E402
from mbench_tensorflow.models import bert, resnet  # noqa: E402


@pytest.fixture(scope="module")
def proofs(lies):
    with pytest.MonkeyPatch.context() as monkeypatch, lies.draws_remembered(monkeypatch):
        yield lies.Proofs("mbench_tensorflow.runtime:Runtime", "eager")


def layers(benchmark, kind):
    return [layer for layer in benchmark._model._flatten_layers() if isinstance(layer, kind)]


def nothing(benchmark, monkeypatch):
    """The control."""


def pads_one_side_more(benchmark, monkeypatch):
    """Keras' own "same"."""
    monkeypatch.setattr(resnet.Convolution, "convolution_op", keras.layers.Conv2D.convolution_op)


def wrong_epsilon(benchmark, monkeypatch):
    for norm in layers(benchmark, BatchNormalization):
        monkeypatch.setattr(norm, "epsilon", 1e-3)


def wrong_momentum(benchmark, monkeypatch):
    for norm in layers(benchmark, BatchNormalization):
        monkeypatch.setattr(norm, "momentum", 0.99)


def keeps_its_outputs(benchmark, monkeypatch):
    honest, kept = benchmark._infer, []

    def infer(batch):
        if not kept:
            kept.append(honest(batch))
        return kept[0]

    monkeypatch.setattr(benchmark, "_infer", infer)


def rule(benchmark):
    return benchmark._update._optimizer


def alter_gradients(benchmark, monkeypatch, change):
    honest = rule(benchmark).apply
    monkeypatch.setattr(rule(benchmark), "apply", lambda gradients: honest(change(gradients)))


def forgets_the_classifier(benchmark, monkeypatch):
    classifier = list(parameters.trainable(benchmark._model)).index("fc.weight")

    def change(gradients):
        return [
            tf.zeros_like(gradient) if index == classifier else gradient
            for index, gradient in enumerate(gradients)
        ]

    alter_gradients(benchmark, monkeypatch, change)


def keeps_gradients(benchmark, monkeypatch):
    kept = []

    def change(gradients):
        kept[:] = [a + b for a, b in zip(kept, gradients, strict=True)] if kept else gradients
        return list(kept)

    alter_gradients(benchmark, monkeypatch, change)


def skips_the_update(benchmark, monkeypatch):
    monkeypatch.setattr(rule(benchmark), "apply", lambda gradients: None)


def sums_the_loss(benchmark, monkeypatch):
    # In the model's file only: Keras takes means elsewhere.
    summing = SimpleNamespace(nn=tf.nn, pad=tf.pad, reduce_mean=tf.reduce_sum)
    monkeypatch.setattr(resnet, "tf", summing)


def no_weight_decay(benchmark, monkeypatch):
    monkeypatch.setattr(rule(benchmark), "_decays", [0.0] * len(rule(benchmark)._decays))


def weight_decay_everywhere(benchmark, monkeypatch):
    decays = rule(benchmark)._decays
    monkeypatch.setattr(rule(benchmark), "_decays", [max(decays)] * len(decays))


def no_clipping(benchmark, monkeypatch):
    monkeypatch.setattr(benchmark._update, "_clip_norm", None)


def tanh_gelu(benchmark, monkeypatch):
    monkeypatch.setattr(bert, "gelu", partial(tf.nn.gelu, approximate=True))


def first_positions(benchmark, monkeypatch):
    positions = benchmark._batch["masked_positions"]
    first = tf.broadcast_to(tf.range(positions.shape[1], dtype=positions.dtype), positions.shape)
    monkeypatch.setitem(benchmark._batch, "masked_positions", first)


def dropout_left_off(benchmark, monkeypatch):
    monkeypatch.setattr(keras.layers.Dropout, "call", lambda layer, x, training=False: x)


# In an order that prepares each part once.
@pytest.mark.parametrize(
    ("model", "part", "count", "plant", "expected"),
    [
        ("resnet50", "inference", 2, nothing, {}),
        ("resnet50", "inference", 1, pads_one_side_more, {"outputs": ["output logits"]}),
        ("resnet50", "inference", 1, wrong_epsilon,
         {"outputs": ["output logits", "an epsilon or an approximation"]}),
        ("resnet50", "inference", 2, keeps_its_outputs, {"outputs": ["output logits"]}),
        ("resnet50", "plain", 3, nothing, {}),
        ("resnet50", "plain", 1, wrong_momentum,
         {"updates": ["bn1.running_mean", "running statistics most: momentum"]}),
        ("resnet50", "plain", 1, forgets_the_classifier,
         {"updates": ["change of fc.weight", "1 of 267 tensors differ, 1 of them did not change"]}),
        ("resnet50", "plain", 2, keeps_gradients,
         {"updates": ["all changes together after step 2", "every tensor is right after step 1"]}),
        ("resnet50", "plain", 1, skips_the_update, {"updates": ["the step skips its update"]}),
        ("resnet50", "plain", 1, sums_the_loss,
         {"loss": ["loss of step 1", "4 times what it should be: a sum in place of a mean"],
          "updates": ["common factor 4"]}),
        ("resnet50", "own", 3, nothing, {}),
        ("resnet50", "own", 3, no_weight_decay, {"optimizer": ["weight decay"]}),
        ("bert-base", "inference", 1, nothing, {}),
        ("bert-base", "inference", 1, tanh_gelu,
         {"outputs": ["output", "an epsilon or an approximation"]}),
        ("bert-base", "inference", 1, first_positions,
         {"outputs": ["output mlm_logits", "nsp_logits right"]}),
        ("bert-base", "plain", 1, nothing, {}),
        ("bert-base", "plain", 1, no_clipping, {"updates": ["common factor", "clipping"]}),
        ("bert-base", "own", 3, nothing, {}),
        ("bert-base", "own", 3, weight_decay_everywhere,
         {"optimizer": ["most of all those it spares"]}),
        ("bert-base", "dropout", 1, nothing, {}),
        ("bert-base", "dropout", 1, dropout_left_off, {"dropout": ["dropout is off"]}),
    ],
)  # fmt: skip
def test_lies(lies, proofs, monkeypatch, model, part, count, plant, expected):
    plant(proofs.prepare(model, part), monkeypatch)
    lies.assert_caught(proofs.findings(model, part, count), expected)


def test_resnet_v1_in_place_of_v15(lies, proofs, monkeypatch):
    honest = resnet.Bottleneck.__init__

    def build(block, *arguments, **settings):
        """With the stride in the first 1x1 convolution, where the original paper had it."""
        honest(block, *arguments, **settings)
        block.conv1.strides, block.conv2.strides = block.conv2.strides, block.conv1.strides

    monkeypatch.setattr(resnet.Bottleneck, "__init__", build)
    proofs.build("resnet50", "inference")
    lies.assert_caught(
        proofs.findings("resnet50", "inference", 1),
        {"outputs": ["output logits"], "flops": ["GFLOP forward per sample"]},
    )


def give_conv1_a_bias(monkeypatch):
    honest = resnet.build

    def build(config):
        model = honest(config)
        model.conv1.use_bias = True  # Keras builds its variables at the first call
        return model

    monkeypatch.setattr(resnet, "build", build)


def test_a_bias_too_many_does_not_load(proofs, monkeypatch):
    give_conv1_a_bias(monkeypatch)
    with pytest.raises(ValueError, match=r"the model has conv1\.bias, which was left out"):
        proofs.build("resnet50", "inference")


def test_a_bias_too_many_in_spite_of_a_lenient_adapter(lies, proofs, monkeypatch):
    give_conv1_a_bias(monkeypatch)

    def lenient(model, arrays, *, honest=parameters.load):
        with pytest.raises(ValueError, match="left out"):
            honest(model, arrays)

    monkeypatch.setattr(parameters, "load", lenient)
    proofs.build("resnet50", "inference")
    findings = proofs.findings("resnet50", "inference", 1)
    lies.assert_caught(findings, {"parameters": ["conv1.bias is too many"]})


def test_a_frozen_layer(lies, proofs, monkeypatch):
    honest = resnet.build

    def build(config):
        model = honest(config)
        model.blocks[0].trainable = False
        return model

    monkeypatch.setattr(resnet, "build", build)
    proofs.build("resnet50", "plain")
    lies.assert_caught(
        proofs.findings("resnet50", "plain", 1),
        {
            "parameters": ["trainable, not 25,557,032"],
            "updates": ["change of layer1.0.conv1.weight", "did not change"],
        },
    )
