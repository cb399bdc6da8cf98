"""Lies planted in JAX's models and steps, which run operation by operation here."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
from lies import LiesAreCaught, build_then, keeping

pytest.importorskip("jaxlib", reason="JAX is not installed here")

import jax
import jax.numpy as jnp
import optax

from mbench_jax import images
from mbench_jax.layers import Net
from mbench_jax.models import resnet
from mbench_jax.optimizer import RULES, clip


def configured(net, **changes):
    return replace(net, config=replace(net.config, **changes))


def alter(benchmark, monkeypatch, change, *, before=True):
    """Change gradients before the update, or the update itself."""
    honest = benchmark.update.chain

    def update(gradients, state, parameters):
        changes, state = honest.update(
            change(gradients) if before else gradients, state, parameters
        )
        return changes if before else change(changes), state

    altered = optax.GradientTransformation(honest.init, update)
    monkeypatch.setattr(benchmark.update, "chain", altered)


def follow(benchmark, monkeypatch, spec, *, decaying=True):
    """Follow another rule: the constants of `spec`, with weight decay on all parameters or none."""
    rule = RULES[spec.rule](spec, dict.fromkeys(benchmark.update.parameters, decaying))
    monkeypatch.setattr(benchmark.update, "chain", optax.chain(clip(spec.clip_norm), rule))


@pytest.mark.thorough  # and they are caught in four other frameworks
class TestLies(LiesAreCaught):
    package = "mbench_jax"
    compiler = "eager"

    def pads_one_side_more(self, benchmark, monkeypatch):
        """Pads as "SAME" does at stride 2."""
        honest = Net.conv

        def conv(net, name, x, *shape, **settings):
            if name == "conv1":
                x = jnp.pad(x, ((0, 0), (2, 3), (2, 3), (0, 0)))
                settings["padding"] = 0
            return honest(net, name, x, *shape, **settings)

        monkeypatch.setattr(Net, "conv", conv)

    def wrong_epsilon(self, benchmark, monkeypatch):
        monkeypatch.setattr(benchmark, "model", configured(benchmark.model, epsilon=1e-3))

    def wrong_momentum(self, benchmark, monkeypatch):
        honest = Net.norm
        monkeypatch.setattr(
            Net, "norm", lambda net, *given: honest(configured(net, momentum=0.01), *given)
        )

    def keeps_its_outputs(self, benchmark, monkeypatch):
        monkeypatch.setattr(benchmark, "compute", keeping(benchmark.compute))

    def forgets_the_classifier(self, benchmark, monkeypatch):
        def change(gradients):
            return {**gradients, "fc.weight": jnp.zeros_like(gradients["fc.weight"])}

        alter(benchmark, monkeypatch, change)

    def keeps_gradients(self, benchmark, monkeypatch):
        kept = []

        def change(gradients):
            kept[:] = [jax.tree.map(jnp.add, *kept, gradients) if kept else gradients]
            return kept[0]

        alter(benchmark, monkeypatch, change)

    def skips_the_update(self, benchmark, monkeypatch):
        alter(benchmark, monkeypatch, partial(jax.tree.map, jnp.zeros_like), before=False)

    def sums_the_loss(self, benchmark, monkeypatch):
        mean = images.cross_entropy

        def summed(logits, labels):
            return mean(logits, labels) * labels.shape[0]

        monkeypatch.setattr(images, "cross_entropy", summed)

    def no_weight_decay(self, benchmark, monkeypatch):
        follow(benchmark, monkeypatch, benchmark.update.spec, decaying=False)

    def weight_decay_everywhere(self, benchmark, monkeypatch):
        follow(benchmark, monkeypatch, benchmark.update.spec)

    def no_clipping(self, benchmark, monkeypatch):
        follow(benchmark, monkeypatch, replace(benchmark.update.spec, clip_norm=None))

    def tanh_gelu(self, benchmark, monkeypatch):
        monkeypatch.setattr(Net, "gelu", Net.tanh_gelu)

    def first_positions(self, benchmark, monkeypatch):
        positions = benchmark.batch["masked_positions"]
        first = jnp.broadcast_to(
            jnp.arange(positions.shape[1], dtype=positions.dtype), positions.shape
        )
        monkeypatch.setitem(benchmark.batch, "masked_positions", first)

    def dropout_left_off(self, benchmark, monkeypatch):
        monkeypatch.setattr(Net, "dropout", lambda net, x, rate: x)

    def strides_first(self, monkeypatch):
        def change(model):
            object.__setattr__(model, "config", replace(model.config, stride_first=True))

        build_then(resnet, monkeypatch, change)

    def conv1_has_a_bias(self, monkeypatch):
        honest = Net.conv

        def conv(net, name, *given, **settings):
            return honest(net, name, *given, **{**settings, "bias": name == "conv1"})

        monkeypatch.setattr(Net, "conv", conv)

    def freezes_a_layer(self, monkeypatch):
        honest = Net.tensor

        def tensor(net, name, *given, trainable=True):
            return honest(net, name, *given, trainable=trainable and name[:7] != "layer1.")

        monkeypatch.setattr(Net, "tensor", tensor)
