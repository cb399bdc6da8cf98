"""Lies about a vision transformer in PyTorch."""

from __future__ import annotations

import importlib
from functools import partial

import pytest
from transformers_of_images import Lies

torch = pytest.importorskip("torch", reason="PyTorch is not installed here")

from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from mbench_pytorch.vision import import_torchvision  # noqa: E402

KEPT = import_torchvision()

vit = importlib.import_module("torchvision.models.vision_transformer")


def around_the_encoder(monkeypatch, before=lambda x: x, after=lambda x: x):
    honest = vit.Encoder.forward
    monkeypatch.setattr(vit.Encoder, "forward", lambda self, x: after(honest(self, before(x))))


class TestLies(Lies):
    package = "mbench_pytorch"
    compiler = "eager"

    def tanh_gelu(self, monkeypatch):
        monkeypatch.setattr(nn, "GELU", partial(nn.GELU, approximate="tanh"))

    def norms_after_sums(self, monkeypatch):
        def forward(block, x):
            x = block.ln_1(x + block.self_attention(x, x, x, need_weights=False)[0])
            return block.ln_2(x + block.mlp(x))

        monkeypatch.setattr(vit.EncoderBlock, "forward", forward)

    def means_all_positions(self, monkeypatch):
        around_the_encoder(monkeypatch, after=lambda x: x.mean(1, keepdim=True))

    def does_not_scale(self, monkeypatch):
        honest = functional.scaled_dot_product_attention
        monkeypatch.setattr(functional, "scaled_dot_product_attention", partial(honest, scale=1.0))

    def takes_patches_by_column(self, monkeypatch):
        def turned(x):
            patches = x[:, 1:].unflatten(1, (4, 4)).transpose(1, 2).flatten(1, 2)
            return torch.cat((x[:, :1], patches), 1)

        around_the_encoder(monkeypatch, before=turned)
