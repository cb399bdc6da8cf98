"""Lies planted in PyTorch's models and steps: the proof of equal work must catch each by name."""

from __future__ import annotations

import importlib
from functools import partial

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed here")

from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from mbench_pytorch import parameters  # noqa: E402


@pytest.fixture(scope="module")
def proofs(lies):
    with pytest.MonkeyPatch.context() as monkeypatch, lies.draws_remembered(monkeypatch):
        yield lies.Proofs("mbench_pytorch.runtime:Runtime", "eager")


@pytest.fixture
def resnet(proofs):
    """The model file; the runtime imports torchvision first, which may take its help."""
    return importlib.import_module("mbench_pytorch.models.resnet")


def modules(benchmark, kind):
    return [module for module in benchmark._model.modules() if isinstance(module, kind)]


def nothing(benchmark, monkeypatch):
    """The control."""


def pads_one_side_more(benchmark, monkeypatch):
    convolution = benchmark._model.conv1
    honest = convolution.forward
    monkeypatch.setattr(convolution, "padding", (0, 0))
    monkeypatch.setattr(
        convolution, "forward", lambda x: honest(functional.pad(x, (2, 3, 2, 3))), raising=False
    )


def wrong_epsilon(benchmark, monkeypatch):
    for norm in modules(benchmark, nn.BatchNorm2d):
        monkeypatch.setattr(norm, "eps", 1e-3)


def wrong_momentum(benchmark, monkeypatch):
    for norm in modules(benchmark, nn.BatchNorm2d):
        monkeypatch.setattr(norm, "momentum", 0.01)


def keeps_its_outputs(benchmark, monkeypatch):
    honest, kept = benchmark._forward, []

    def forward(*arguments):
        if not kept:
            kept.append(honest(*arguments))
        return kept[0]

    monkeypatch.setattr(benchmark, "_forward", forward)


def forgets_the_classifier(benchmark, monkeypatch):
    classifier = benchmark._model.fc.weight
    for group in benchmark._update._optimizer.param_groups:
        kept = [p for p in group["params"] if p is not classifier]
        monkeypatch.setitem(group, "params", kept)


def keeps_gradients(benchmark, monkeypatch):
    benchmark._update.zero_gradients()
    monkeypatch.setattr(benchmark._update, "zero_gradients", lambda: None)


def skips_the_update(benchmark, monkeypatch):
    monkeypatch.setattr(benchmark._update._optimizer, "step", lambda: None)


def sums_the_loss(benchmark, monkeypatch):
    honest = functional.cross_entropy
    monkeypatch.setattr(functional, "cross_entropy", partial(honest, reduction="sum"))


def no_weight_decay(benchmark, monkeypatch):
    for group in benchmark._update._optimizer.param_groups:
        monkeypatch.setitem(group, "weight_decay", 0.0)


def weight_decay_everywhere(benchmark, monkeypatch):
    decaying, spared = benchmark._update._optimizer.param_groups
    monkeypatch.setitem(spared, "weight_decay", decaying["weight_decay"])


def no_clipping(benchmark, monkeypatch):
    monkeypatch.setattr(benchmark._update, "_clip_norm", None)


def tanh_gelu(benchmark, monkeypatch):
    for layer in benchmark._model.bert.encoder.layer:
        approximate = nn.GELU(approximate="tanh")
        monkeypatch.setitem(layer.intermediate._modules, "intermediate_act_fn", approximate)


def first_positions(benchmark, monkeypatch):
    positions = benchmark._batch["masked_positions"]
    first = torch.arange(positions.shape[1]).expand_as(positions)
    monkeypatch.setitem(benchmark._batch, "masked_positions", first)


def dropout_left_off(benchmark, monkeypatch):
    for dropout in modules(benchmark, nn.Dropout):
        monkeypatch.setattr(dropout, "p", 0.0)
    for layer in benchmark._model.bert.encoder.layer:
        monkeypatch.setattr(layer.attention.self.dropout, "p", 0.0)


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


def test_resnet_v1_in_place_of_v15(lies, proofs, resnet, monkeypatch):
    class BottleneckV1(resnet.Bottleneck):
        """The stride in the first 1x1 convolution, where the original paper had it."""

        def __init__(self, *arguments, **settings):
            super().__init__(*arguments, **settings)
            self.conv1.stride, self.conv2.stride = self.conv2.stride, self.conv1.stride

    monkeypatch.setattr(resnet, "Bottleneck", BottleneckV1)
    proofs.build("resnet50", "inference")
    lies.assert_caught(
        proofs.findings("resnet50", "inference", 1),
        {"outputs": ["output logits"], "flops": ["GFLOP forward per sample"]},
    )


def build_then(resnet, monkeypatch, change):
    """Change whatever model of the ResNet family is built."""
    honest = resnet.build

    def build(config):
        model = honest(config)
        change(model)
        return model

    monkeypatch.setattr(resnet, "build", build)


def add_bias(model):
    model.conv1.bias = nn.Parameter(torch.ones(64))


def test_a_bias_too_many_does_not_load(proofs, resnet, monkeypatch):
    build_then(resnet, monkeypatch, add_bias)
    with pytest.raises(ValueError, match=r"the model has conv1\.bias, which was left out"):
        proofs.build("resnet50", "inference")


def test_a_bias_too_many_in_spite_of_a_lenient_adapter(lies, proofs, resnet, monkeypatch):
    build_then(resnet, monkeypatch, add_bias)

    def lenient(model, arrays, *, honest=parameters.load):
        with pytest.raises(ValueError, match="left out"):
            honest(model, arrays)

    monkeypatch.setattr(parameters, "load", lenient)
    proofs.build("resnet50", "inference")
    findings = proofs.findings("resnet50", "inference", 1)
    lies.assert_caught(findings, {"parameters": ["conv1.bias is too many"]})


def test_a_frozen_layer(lies, proofs, resnet, monkeypatch):
    build_then(resnet, monkeypatch, lambda model: model.layer1.requires_grad_(False))
    proofs.build("resnet50", "plain")
    lies.assert_caught(
        proofs.findings("resnet50", "plain", 1),
        {
            "parameters": ["trainable, not 25,557,032"],
            "updates": ["change of layer1.0.conv1.weight", "did not change"],
        },
    )
