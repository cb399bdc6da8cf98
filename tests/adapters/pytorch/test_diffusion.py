"""Lies about diffusion transformers, and about divided steps, in PyTorch."""

from __future__ import annotations

import pytest
from diffusion import Diffusion, Divided

torch = pytest.importorskip("torch", reason="PyTorch is not installed here")

from torch.nn import functional  # noqa: E402

from mbench_pytorch import runtime  # noqa: E402
from mbench_pytorch.models import dit  # noqa: E402
from mbench_pytorch.optimizer import Update  # noqa: E402


class TestDiffusion(Diffusion):
    package = "mbench_pytorch"
    compiler = "eager"

    def swaps_shift_and_scale(self, monkeypatch):
        monkeypatch.setattr(dit, "modulated", lambda x, shift, scale: x * (1 + shift) + scale)

    def multiplies_by_the_scale_alone(self, monkeypatch):
        monkeypatch.setattr(dit, "modulated", lambda x, shift, scale: x * scale + shift)

    def forgets_the_gates(self, monkeypatch):
        def forward(block, x, known):
            shift, scale, _, *others = block.adaLN_modulation(known)[:, None].chunk(6, dim=-1)
            x = x + block.attn(dit.modulated(block.norm1(x), shift, scale))
            return x + block.mlp(dit.modulated(block.norm2(x), *others[:2]))

        monkeypatch.setattr(dit.Block, "forward", forward)

    def exact_gelu(self, monkeypatch):
        honest = functional.gelu
        monkeypatch.setattr(functional, "gelu", lambda x, approximate: honest(x))

    def puts_pixels_by_column(self, monkeypatch):
        honest = dit.FinalLayer.forward

        def forward(layer, x, known):
            pixels = honest(layer, x, known).unflatten(2, (2, 2, -1))
            return pixels.transpose(2, 3).flatten(2)

        monkeypatch.setattr(dit.FinalLayer, "forward", forward)

    def of_noise_alone(self, outputs, batch):
        return (outputs["denoised"][:, :4] - batch["noise"]).square().mean()

    def not_stopped(self, monkeypatch):
        honest = dit.loss

        def loss(outputs, batch):
            with monkeypatch.context() as within:
                within.setattr(torch.Tensor, "detach", lambda x: x)
                return honest(outputs, batch)

        monkeypatch.setattr(dit, "loss", loss)


class TestDivided(Divided):
    package = "mbench_pytorch"
    compiler = "eager"

    def sums_micro_batches(self, monkeypatch):
        honest = Update.backward
        monkeypatch.setattr(Update, "backward", lambda update, loss: honest(update, 2 * loss))

    def keeps_the_last_gradients(self, monkeypatch):
        honest = Update.backward

        def backward(update, loss):
            update.zero_gradients()
            return honest(update, loss)

        monkeypatch.setattr(Update, "backward", backward)

    def learns_nothing_in_layers(self, monkeypatch):
        def once(layer, x, *others, use_reentrant):
            return x + (layer(x, *others) - x).detach()

        monkeypatch.setattr(runtime, "checkpoint", once)
