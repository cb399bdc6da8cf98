"""Lies about diffusion transformers, and about divided steps, in JAX."""

from __future__ import annotations

import pytest
from diffusion import Diffusion, Divided

pytest.importorskip("mbench_jax", reason="JAX's adapter is not installed here")
jax = pytest.importorskip("jax", reason="JAX is not installed here")

import jax.numpy as jnp  # noqa: E402

from mbench_jax.models.dit import DiffusionNet  # noqa: E402

pytestmark = pytest.mark.usefixtures("quickly_compiled")


class TestDiffusion(Diffusion):
    package = "mbench_jax"
    compiler = "jit"

    def swaps_shift_and_scale(self, monkeypatch):
        honest = DiffusionNet.modulated
        monkeypatch.setattr(
            DiffusionNet, "modulated", lambda net, x, shift, scale: honest(net, x, scale, shift)
        )

    def multiplies_by_the_scale_alone(self, monkeypatch):
        honest = DiffusionNet.modulated
        monkeypatch.setattr(
            DiffusionNet,
            "modulated",
            lambda net, x, shift, scale: honest(net, x, shift, scale - 1),
        )

    def forgets_the_gates(self, monkeypatch):
        monkeypatch.setattr(DiffusionNet, "gated", lambda net, x, gate: x)

    def exact_gelu(self, monkeypatch):
        monkeypatch.setattr(
            DiffusionNet, "tanh_gelu", lambda net, x: jax.nn.gelu(x, approximate=False)
        )

    def puts_pixels_by_column(self, monkeypatch):
        honest = DiffusionNet.image

        def image(net, x, side, patch):
            pixels = x.reshape(*x.shape[:2], patch, patch, -1).swapaxes(2, 3)
            return honest(net, pixels.reshape(x.shape), side, patch)

        monkeypatch.setattr(DiffusionNet, "image", image)

    def of_noise_alone(self, outputs, batch):
        return jnp.square(outputs["denoised"][..., :4] - batch["noise"]).mean()

    def not_stopped(self, monkeypatch):
        monkeypatch.setattr(jax.lax, "stop_gradient", lambda x: x)


class TestDivided(Divided):
    package = "mbench_jax"
    compiler = "jit"

    def sums_micro_batches(self, monkeypatch):
        honest = jax.lax.scan

        def scan(*given):
            total, rest = honest(*given)
            return jax.tree.map(lambda one: 2 * one, total), rest

        monkeypatch.setattr(jax.lax, "scan", scan)

    def keeps_the_last_gradients(self, monkeypatch):
        honest = jax.lax.scan

        def scan(add, nothing, given):
            def last(_, one):
                found, rest = add(nothing, one)
                return jax.tree.map(lambda each: 2 * each, found), rest

            return honest(last, nothing, given)

        monkeypatch.setattr(jax.lax, "scan", scan)

    def learns_nothing_in_layers(self, monkeypatch):
        def once(layer):
            return lambda own, *given: layer(jax.lax.stop_gradient(own), *given)

        monkeypatch.setattr(jax, "checkpoint", once)
