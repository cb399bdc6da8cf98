"""Lies planted in PyTorch's models and steps."""

from __future__ import annotations

import importlib
from dataclasses import replace
from functools import partial

import pytest
from lies import LiesAreCaught, build_then, keeping

torch = pytest.importorskip("torch", reason="PyTorch is not installed here")

from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402


def modules(benchmark, kind):
    return [module for module in benchmark.model.modules() if isinstance(module, kind)]


def resnet():
    """The model file. The runtime must import torchvision first, which may need its help."""
    return importlib.import_module("mbench_pytorch.models.resnet")


class TestLies(LiesAreCaught):
    package = "mbench_pytorch"
    compiler = "eager"

    def pads_one_side_more(self, benchmark, monkeypatch):
        convolution = benchmark.model.conv1
        honest = convolution.forward
        monkeypatch.setattr(convolution, "padding", (0, 0))
        monkeypatch.setattr(
            convolution, "forward", lambda x: honest(functional.pad(x, (2, 3, 2, 3))), raising=False
        )

    def wrong_epsilon(self, benchmark, monkeypatch):
        for norm in modules(benchmark, nn.BatchNorm2d):
            monkeypatch.setattr(norm, "eps", 1e-3)

    def wrong_momentum(self, benchmark, monkeypatch):
        for norm in modules(benchmark, nn.BatchNorm2d):
            monkeypatch.setattr(norm, "momentum", 0.01)

    def keeps_its_outputs(self, benchmark, monkeypatch):
        monkeypatch.setattr(benchmark, "forward", keeping(benchmark.forward))

    def forgets_the_classifier(self, benchmark, monkeypatch):
        classifier = benchmark.model.fc.weight
        for group in benchmark.update._optimizer.param_groups:
            kept = [p for p in group["params"] if p is not classifier]
            monkeypatch.setitem(group, "params", kept)

    def keeps_gradients(self, benchmark, monkeypatch):
        benchmark.update.zero_gradients()
        monkeypatch.setattr(benchmark.update, "zero_gradients", lambda: None)

    def skips_the_update(self, benchmark, monkeypatch):
        monkeypatch.setattr(benchmark.update._optimizer, "step", lambda: None)

    def sums_the_loss(self, benchmark, monkeypatch):
        honest = functional.cross_entropy
        monkeypatch.setattr(functional, "cross_entropy", partial(honest, reduction="sum"))

    def no_weight_decay(self, benchmark, monkeypatch):
        for group in benchmark.update._optimizer.param_groups:
            monkeypatch.setitem(group, "weight_decay", 0.0)

    def weight_decay_everywhere(self, benchmark, monkeypatch):
        decaying, spared = benchmark.update._optimizer.param_groups
        monkeypatch.setitem(spared, "weight_decay", decaying["weight_decay"])

    def no_clipping(self, benchmark, monkeypatch):
        unclipped = replace(benchmark.update.spec, clip_norm=None)
        monkeypatch.setattr(benchmark.update, "spec", unclipped)

    def tanh_gelu(self, benchmark, monkeypatch):
        for layer in benchmark.model.bert.encoder.layer:
            approximate = nn.GELU(approximate="tanh")
            monkeypatch.setitem(layer.intermediate._modules, "intermediate_act_fn", approximate)

    def first_positions(self, benchmark, monkeypatch):
        positions = benchmark.batch["masked_positions"]
        first = torch.arange(positions.shape[1]).expand_as(positions)
        monkeypatch.setitem(benchmark.batch, "masked_positions", first)

    def dropout_left_off(self, benchmark, monkeypatch):
        for dropout in modules(benchmark, nn.Dropout):
            monkeypatch.setattr(dropout, "p", 0.0)
        for layer in benchmark.model.bert.encoder.layer:
            monkeypatch.setattr(layer.attention.self.dropout, "p", 0.0)

    def strides_first(self, monkeypatch):
        class BottleneckV1(resnet().Bottleneck):
            def __init__(self, *arguments, **settings):
                super().__init__(*arguments, **settings)
                self.conv1.stride, self.conv2.stride = self.conv2.stride, self.conv1.stride

        monkeypatch.setattr(resnet(), "Bottleneck", BottleneckV1)

    def conv1_has_a_bias(self, monkeypatch):
        def add(model):
            model.conv1.bias = nn.Parameter(torch.ones(64))

        build_then(resnet(), monkeypatch, add)

    def freezes_a_layer(self, monkeypatch):
        build_then(resnet(), monkeypatch, lambda model: model.layer1.requires_grad_(False))
