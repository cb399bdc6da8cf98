"""Lies about a vision transformer in TensorFlow."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from transformers_of_images import Lies

tf = pytest.importorskip("tensorflow", reason="TensorFlow is not installed here")

from mbench_tensorflow.models import vit  # noqa: E402


def around_the_encoder(monkeypatch, before=lambda x: x, after=lambda x: x):
    honest = vit.Encoder.call
    monkeypatch.setattr(vit.Encoder, "call", lambda self, x: after(honest(self, before(x))))


class TestLies(Lies):
    package = "mbench_tensorflow"
    compiler = "eager"

    def tanh_gelu(self, monkeypatch):
        monkeypatch.setattr(vit, "gelu", lambda x: tf.nn.gelu(x, approximate=True))

    def norms_after_sums(self, monkeypatch):
        def call(block, x):
            x = block.ln_1(x + block.self_attention(x))
            return block.ln_2(x + block.outer(vit.gelu(block.inner(x))))

        monkeypatch.setattr(vit.Block, "call", call)

    def means_all_positions(self, monkeypatch):
        around_the_encoder(monkeypatch, after=lambda x: tf.reduce_mean(x, 1, keepdims=True))

    def does_not_scale(self, monkeypatch):
        monkeypatch.setattr(vit, "math", SimpleNamespace(sqrt=lambda width: 1.0))

    def takes_patches_by_column(self, monkeypatch):
        def turned(x):
            patches = tf.reshape(x[:, 1:], (x.shape[0], 4, 4, -1))
            patches = tf.reshape(tf.transpose(patches, (0, 2, 1, 3)), x[:, 1:].shape)
            return tf.concat((x[:, :1], patches), 1)

        around_the_encoder(monkeypatch, before=turned)
